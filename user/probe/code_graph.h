/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of one function, each once, and where each goes on: what a proof about values
 * walks over (value_flow.h). Calls are stepped over, but for those that do not return, and for
 * those whose code is put in their place (code_graph_inline).
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
/* With the code of calls in their place: glibc 2.41's _int_malloc has 900. */
#define GRAPH_MAX_INLINED 4096
#define GRAPH_NONE 0xffff
/* Calls whose code is put in their place: of one thread, of several, and once more of these. */
#define GRAPH_MAX_FRAMES 3

struct code_node {
	uint64_t addr;
	uint64_t callee; /* of a direct call to a function of the object; 0: it is none */
	struct insn_effect effect;
	uint8_t len;
	enum insn_flow flow;
	bool is_emulated; /* a probe there needs no single step */
	bool is_refused;  /* there can be none */
	bool is_nop;
	bool is_own;	       /* in the function's own code, which no other one jumps into */
	bool leaves;	       /* jumps to another function, or nobody knows where to */
	bool is_quiet;	       /* a call in which nothing happens that is counted */
	uint8_t frame;	       /* 0: the function's own; n: of frames[n - 1] */
	uint16_t next, target; /* nodes, or GRAPH_NONE */
};

/* A call whose code is in its place. */
struct graph_frame {
	uint16_t entry; /* the first node of that code */
	uint64_t link;	/* the call's return address */
};

struct code_graph {
	struct code_node *nodes; /* the entry's is the first */
	size_t n;
	uint16_t *places; /* of nodes, by a hash of their addresses */
	struct graph_frame frames[GRAPH_MAX_FRAMES];
	unsigned n_frames;
};

/*
 * *steps_left: how many instructions may still be looked at. 0 or -ENOMEM; *ret_why: a static
 * string when there is no graph that could be trusted, else NULL. `ret_graph` is for
 * code_graph_done() then, too. No node is known to be its own yet: that costs as much again.
 */
int code_graph_new(struct insn_decoder *decoder, const struct sites_code *code, uint64_t entry,
		   const struct plan_emulation *emulation, uint32_t *steps_left,
		   struct code_graph *ret_graph, const char **ret_why);

/* Finds which nodes are the function's own. */
void code_graph_find_own(struct code_graph *graph, const struct sites_code *code);
void code_graph_done(struct code_graph *graph);

/* The call does not return. */
void code_graph_end_call(struct code_graph *graph, uint16_t node);

/* Whether a way leads from the entry to each node: for free(). 0 or -ENOMEM, with it as well. */
int code_graph_reach(const struct code_graph *graph, bool **ret_is_reached);

/*
 * Puts the callee's graph, which is of no other use then, in the place of the call. False: there
 * is no room, or it leaves for other code.
 */
bool code_graph_inline(struct code_graph *graph, uint16_t call, const struct code_graph *callee);

#endif
