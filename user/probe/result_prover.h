/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The proof of result_sites.c: over a function's code and the values in it, which instructions see
 * the end of each of its calls, the last ones that do. For result_sites.c alone.
 */
#ifndef MEMTRACED_PROBE_RESULT_PROVER_H
#define MEMTRACED_PROBE_RESULT_PROVER_H

#include "probe/code_graph.h"
#include "probe/result_types.h"
#include "probe/value_flow.h"

#include <stdbool.h>
#include <stdint.h>

struct allocator_function;
struct callee_facts;
struct sites;

enum {
	PASSED_CALL = 1,
	PASSED_COUNTED = 2, /* one in which something may be counted, or the function's entry */
};

/* What is known at a node. */
struct node_facts {
	value returned; /* VALUE_UNKNOWN: no way leads to a return */
	bool is_live;	/* a way leads to a return, or out of the function */
	uint8_t passed; /* what all ways to it have passed */
	bool is_after;	/* the call has been counted before */
	bool can_end;	/* a site that sees the result, or all, whichever way is taken */
	struct result_site site;
};

struct prover {
	const struct allocator_function *function;
	const struct sites *walked;
	struct callee_facts *callees;
	bool from_entry; /* calls begin at the entry site */
	struct code_graph graph;
	struct value_flow flow;
	struct node_facts *facts;
	uint32_t *steps_left;
	const char *why;
};

void prover_done(struct prover *p);

/* Fills the facts, for which there is room, from graph and flow; p->why: that is too much work. */
void prover_find(struct prover *p);

/* What other code, or the kernel, is asked for, by which something may be counted. */
bool prover_is_call(const struct code_node *node);

bool prover_is_return(const struct prover *p, uint16_t node);

/* What the way from one node to the next one makes of what will be returned. */
value prover_returned_by(const struct prover *p, uint16_t node, uint16_t to);

/* What a probe could see at the node; false: not where the stack begins, or no probe is there. */
bool prover_see(const struct prover *p, uint16_t node, struct result_site *ret_site);

/* Is a probe to be there? */
bool prover_is_site(const struct prover *p, uint16_t node, struct result_site *ret_site);

#endif
