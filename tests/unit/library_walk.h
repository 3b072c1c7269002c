/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks by sample/walk.c as the library has it, over memory that is at its addresses, by rules that
 * the test says. The test's program is linked with --wrap=walk_rule.
 */
#ifndef MEMTRACED_TESTS_LIBRARY_WALK_H
#define MEMTRACED_TESTS_LIBRARY_WALK_H

#include "bpf/abi_unwind.h"

#include <stdbool.h>
#include <stdint.h>

struct library_registers {
	uint64_t pc, sp, bp, bx;
};

struct library_stack {
	uint32_t frames, shared; /* with the walk before */
	uint32_t cut;		 /* enum abi_stack_cut */
	bool any_guided;
	uint64_t frame[ABI_MAX_FRAMES];
	uint64_t exact[ABI_EXACT_WORDS];
};

/* false: no object is at the address. */
typedef bool (*library_rules)(uint64_t address, struct abi_unwind_rule *ret);

/* Knows nothing of the walks before. */
void library_walk_begin(library_rules rules);
void library_walk(const struct library_registers *from, struct library_stack *ret);

#endif
