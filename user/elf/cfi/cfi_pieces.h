/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What call frame information is compiled from, and which entry speaks for which code: disjoint
 * ranges by ascending address, relative to the base. The latter is internal to elf/cfi/.
 */
#ifndef MEMTRACED_ELF_CFI_CFI_PIECES_H
#define MEMTRACED_ELF_CFI_CFI_PIECES_H

#include "base/cleanup.h"
#include "bpf/abi_unwind.h"

#include <stddef.h>
#include <stdint.h>

/* A section, or the bytes of an executable segment, with its address as the file has it. */
struct cfi_bytes {
	const uint8_t *data;
	size_t len;
	uint64_t addr;
};

struct elf_symbol;

struct cfi_input {
	struct cfi_bytes eh_frame, debug_frame; /* len 0: none */
	const struct cfi_bytes *text;		/* entries for other code are left out */
	size_t n_text;
	uint64_t base;	    /* rows are relative to it */
	uint64_t data_base; /* of DW_EH_PE_datarel */
	/* Where the process starts: code without information there gets ABI_UNWIND_END. */
	uint64_t entry, entry_end;
	/* Where functions start that need not have information: elf/cfi/cfi_pieces.h. */
	const uint64_t *starts;
	size_t n_starts;
	/* Of functions, by ascending value; or NULL. */
	const struct elf_symbol *symbols;
	size_t n_symbols;
};

/* The text that the address is in, or NULL. */
static inline const struct cfi_bytes *cfi_text_of(const struct cfi_input *in, uint64_t addr)
{
	for (size_t i = 0; i < in->n_text; i++)
		if (addr >= in->text[i].addr && addr - in->text[i].addr < in->text[i].len)
			return &in->text[i];
	return NULL;
}

enum cfi_source {
	CFI_FROM_EH_FRAME,
	CFI_FROM_DEBUG_FRAME,
	CFI_SECTIONS,
	/* Code without information that is known all the same. */
	CFI_IS_STACK_START = CFI_SECTIONS,
	CFI_IS_SIGNAL_RETURN,
	CFI_IS_CLONE,
	CFI_IS_STUB, /* it only jumps on: the stack is as it was at the call */
	CFI_FROM_CODE,
};

struct cfi_piece {
	uint32_t start, end;
	uint32_t fde; /* index, in the source's order */
	enum cfi_source source;
	struct abi_unwind_rule rule; /* CFI_FROM_CODE: of all of it */
};

/* A VEC() that functions can be given. */
struct cfi_pieces {
	struct cfi_piece *data;
	size_t len, cap;
};

void cfi_pieces_done(struct cfi_pieces *pieces);

/* Sorts by start, then by fde, and cuts off of each what the ones before it cover. */
void cfi_pieces_settle(struct cfi_pieces *pieces);

/* Adds those parts of settled `more` that settled `pieces` leave uncovered. 0 or -ENOMEM. */
int cfi_pieces_fill(struct cfi_pieces *pieces, const struct cfi_pieces *more);

/* Go's assembler describes its signal return like any function: those that begin as one are it. */
void cfi_mark_known(const struct cfi_input *in, struct cfi_pieces *pieces);

/*
 * Each adds to settled pieces what fills gaps between them; 0 or -ENOMEM. cfi_known.c: code that is
 * known by its bytes; code that GHC has made of Haskell. cfi_code.c: functions without call frame
 * information, which start at in->starts, and where followed code calls or takes an address.
 */
int cfi_add_known(const struct cfi_input *in, struct cfi_pieces *pieces);
int cfi_add_ghc(const struct cfi_input *in, struct cfi_pieces *pieces);
int cfi_add_code(const struct cfi_input *in, struct cfi_pieces *pieces);

#endif
