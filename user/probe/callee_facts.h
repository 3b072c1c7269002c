/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What calls inside an allocator lead to, by the code of all functions that they reach: whether
 * they come back, and whether anything can happen in them that is counted, which is a function of
 * the allocator table, a system call, or what nobody knows. Only a proof over all of that code
 * makes a call quiet. `steps_left` bounds the instructions that are looked at; what has been found
 * is kept.
 */
#ifndef MEMTRACED_PROBE_CALLEE_FACTS_H
#define MEMTRACED_PROBE_CALLEE_FACTS_H

#include "base/vec.h"
#include "probe/code_graph.h"

#include <stdbool.h>
#include <stdint.h>

struct insn_decoder;
struct plan_emulation;
struct sites_code;

struct callee_fact {
	uint64_t addr;
	bool returns, is_quiet, knows_quiet;
};

struct callee_facts {
	struct insn_decoder *decoder;
	const struct sites_code *code;
	const struct plan_emulation *emulation;
	uint32_t steps_left;
	bool is_off; /* what is counted is not in the table alone: no call is quiet */
	VEC(struct callee_fact) found;
	struct code_graph last; /* of the function that was asked for last */
	uint64_t last_addr;
	const char *last_why;
};

void callee_facts_done(struct callee_facts *facts);

/* Ends the calls that do not return, and marks those that are quiet. 0 or -ENOMEM. */
int callee_facts_apply(struct callee_facts *facts, struct code_graph *graph);

/*
 * The code of the function at `addr`, with what is known of its calls, until the next one is asked
 * for. 0 or -ENOMEM; *ret_graph: NULL where there is none.
 */
int callee_facts_graph(struct callee_facts *facts, uint64_t addr,
		       const struct code_graph **ret_graph);

#endif
