/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which values stand where, at each instruction of a function: a forward data-flow analysis by
 * value numbers. Equal numbers at one instruction are equal values; what is not known to be equal
 * has another number.
 */
#ifndef MEMTRACED_PROBE_VALUE_FLOW_H
#define MEMTRACED_PROBE_VALUE_FLOW_H

#include "probe/code_graph.h"

/* Places of values: general registers, the zero flag, and words below the return address. */
#define FLOW_FLAG INSN_REGS
#define FLOW_SLOTS (INSN_REGS + 1)
#define FLOW_N_SLOTS 47
#define FLOW_PLACES 64
_Static_assert(FLOW_SLOTS + FLOW_N_SLOTS == FLOW_PLACES, "a number of a place has six bits");

typedef uint32_t value;

enum {
	VALUE_UNKNOWN, /* no way leads there */
	VALUE_ENTRY,   /* + n: of register n at the entry */
	VALUE_NULL = VALUE_ENTRY + INSN_REGS,
	VALUE_PRODUCT, /* + n: of two registers at the entry */
};

/* The product of what two registers had at the entry. */
static inline value value_product(unsigned reg, unsigned by)
{
	return VALUE_PRODUCT + (reg < by ? reg * INSN_REGS + by : by * INSN_REGS + reg);
}

/* The value of a register at an instruction, made by it or where ways meet before it. */
#define VALUE_MADE 0x80000000U
#define VALUE_MET 0xc0000000U
#define VALUE_KIND 0xc0000000U
#define VALUE_NODE(v) ((v) >> 6 & 0xffff)
#define VALUE_PLACE(v) ((v) & (FLOW_PLACES - 1))
/* An address: sp at the entry, and a distance. */
#define VALUE_SP 0x40000000U
#define VALUE_SP_BIAS 0x8000

struct flow_state {
	value at[FLOW_PLACES];
};

struct value_flow {
	const struct code_graph *graph;
	struct flow_state *in, *out; /* of each node */
	bool stack_escapes;	     /* somebody may have a pointer into the function's stack */
	const char *why_not;	     /* static: what is in it means nothing */
};

/*
 * *steps_left: how often an instruction may still be looked at. 0 or -ENOMEM; `ret_flow` is for
 * value_flow_done(), and the graph must outlive it.
 */
int value_flow_new(const struct code_graph *graph, uint32_t *steps_left,
		   struct value_flow *ret_flow);
void value_flow_done(struct value_flow *flow);

/* sp at the entry minus sp there: 0 or more. Negative: that is not known. */
int32_t value_flow_sp_distance(const struct flow_state *state);

/* What an address in that slot is below sp at the entry. */
static inline int32_t value_flow_slot_distance(unsigned slot)
{
	return 8 * ((int32_t)slot - FLOW_SLOTS + 1);
}

#endif
