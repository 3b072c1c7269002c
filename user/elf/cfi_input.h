/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What call frame information is compiled from. */
#ifndef MEMTRACED_ELF_CFI_INPUT_H
#define MEMTRACED_ELF_CFI_INPUT_H

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
	/* Where functions start that need not have information: elf/cfi_code.h. */
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

#endif
