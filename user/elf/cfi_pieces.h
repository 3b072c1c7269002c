/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which entry speaks for which code: disjoint ranges by ascending address, relative to the base.
 * Internal to elf/cfi*.c.
 */
#ifndef MEMTRACED_ELF_CFI_PIECES_H
#define MEMTRACED_ELF_CFI_PIECES_H

#include "base/cleanup.h"
#include "bpf/abi_unwind.h"

#include <stddef.h>
#include <stdint.h>

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

#endif
