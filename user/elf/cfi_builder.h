/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows under construction: each rule is kept once, equal neighbours become one row. Internal to
 * elf/cfi*.c.
 */
#ifndef MEMTRACED_ELF_CFI_BUILDER_H
#define MEMTRACED_ELF_CFI_BUILDER_H

#include "base/vec.h"
#include "elf/cfi_rows.h"

struct cfi_builder {
	VEC(struct abi_unwind_row) rows;
	VEC(struct abi_unwind_rule) rules;
	uint16_t *slots; /* of a hash table: index of a rule, 0: free (rule 0 is not in it) */
	size_t n_slots;
	uint32_t lost[CFI_LOSSES];
};

/* 0 or -ENOMEM; cfi_builder_done() is due in both cases. The first row, at 0, is of no rule. */
int cfi_builder_init(struct cfi_builder *b);
void cfi_builder_done(struct cfi_builder *b);

/* The rule holds from `pc` on, which is not below the last one's: of equals, the last holds. */
int cfi_builder_add(struct cfi_builder *b, uint32_t pc, struct abi_unwind_rule rule);

/* Hands over what was built. 0 or -ENOMEM. */
int cfi_builder_finish(struct cfi_builder *b, bool pruned, struct cfi_rows **ret_rows);

#endif
