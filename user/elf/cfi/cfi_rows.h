/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What call frame information is compiled to: the rows of one object, with their rules. */
#ifndef MEMTRACED_ELF_CFI_CFI_ROWS_H
#define MEMTRACED_ELF_CFI_CFI_ROWS_H

#include "base/cleanup.h"
#include "base/vec.h"
#include "bpf/abi_unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What could not be said in rows. */
enum cfi_loss {
	CFI_DAMAGED_ENTRIES,  /* CIEs and FDEs that were left out, or given up half way */
	CFI_CFA_REGISTERS,    /* rows: CFA from another register than rsp and rbp */
	CFI_CFA_EXPRESSIONS,  /* rows: CFA by an expression of another form */
	CFI_RETURN_ADDRESSES, /* rows: return address elsewhere than at CFA - 8 */
	CFI_STACK_POINTERS,   /* rows: the caller's rsp is not the CFA */
	CFI_FRAME_POINTERS,   /* rows: rbp in a register, or by an expression of another form */
	CFI_OFFSETS,	      /* rows: an offset that a rule has no room for */
	CFI_TOO_MANY_RULES,   /* rows */
	CFI_LOSSES
};

struct cfi_rows {
	/* By ascending pc; the first is at 0, so each address has a row. Neighbours differ. */
	struct abi_unwind_row *rows;
	size_t n_rows;
	/* row.rule is an index of these; the first is ABI_UNWIND_NONE. */
	struct abi_unwind_rule *rules;
	size_t n_rules;
	bool pruned;		   /* right for what cfi_prune() says only */
	uint32_t lost[CFI_LOSSES]; /* as compiled, before pruning */
};

/* The rule for the address `rel` + base, as the programs find it. */
const struct abi_unwind_rule *cfi_rule_at(const struct cfi_rows *rows, uint32_t rel);

void cfi_rows_free(struct cfi_rows *rows); /* NULL is legal */
DEFINE_CLEANUP(struct cfi_rows, cfi_rows_free)

/*
 * Rows under construction: each rule is kept once, equal neighbours become one row. Internal to
 * elf/cfi/.
 */
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
