/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of one function, each once, and where each goes on: what a proof about values
 * walks over (value_flow.h). Calls are stepped over, but for those that do not return.
 */
#ifndef MEMTRACED_PROBE_CODE_GRAPH_H
#define MEMTRACED_PROBE_CODE_GRAPH_H

#include "probe/insn_effect.h"
#include "probe/insn_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct insn_decoder;
struct plan_emulation;
struct sites_code;

/* The largest function of an allocator for which anything was proven has 400 instructions. */
#define GRAPH_MAX_NODES 2048
#define GRAPH_NONE 0xffff

struct code_node {
	uint64_t addr;
	struct insn_effect effect;
	uint8_t len;
	enum insn_flow flow;
	bool is_emulated; /* a probe there needs no single step */
	bool is_refused;  /* there can be none */
	bool is_nop;
	bool is_own;	       /* in the function's own code, which no other one jumps into */
	bool leaves;	       /* jumps to another function, or nobody knows where to */
	uint16_t next, target; /* nodes, or GRAPH_NONE */
};

struct code_graph {
	struct code_node *nodes; /* the entry's is the first */
	size_t n;
	uint16_t *places; /* of nodes, by a hash of their addresses */
};

/*
 * *steps_left: how many instructions may still be looked at. 0 or -ENOMEM; *ret_why: a static
 * string when there is no graph that could be trusted, else NULL. `ret_graph` is for
 * code_graph_done() then, too.
 */
int code_graph_new(struct insn_decoder *decoder, const struct sites_code *code, uint64_t entry,
		   const struct plan_emulation *emulation, uint32_t *steps_left,
		   struct code_graph *ret_graph, const char **ret_why);
void code_graph_done(struct code_graph *graph);

/* The call does not return. */
void code_graph_end_call(struct code_graph *graph, uint16_t node);

#endif
