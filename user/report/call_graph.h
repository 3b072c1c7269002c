/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks summed up as functions, what each costs itself, and which calls from which of its lines
 * lead to how much more: what formats of profilers that count calls hold. For writers.
 */
#ifndef MEMTRACED_REPORT_CALL_GRAPH_H
#define MEMTRACED_REPORT_CALL_GRAPH_H

#include "base/interns.h"
#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

#define CALL_GRAPH_COSTS 12 /* the most that a stack can have */

struct call_function {
	const char *object, *file, *name; /* "": unknown; never NULL */
};

struct call_costs {
	uint64_t stack; /* the last stack that it was counted for */
	uint64_t costs[CALL_GRAPH_COSTS];
};

/* Zero-initialised is empty, but for n_costs. */
struct call_graph {
	size_t n_costs;		      /* of each stack, CALL_GRAPH_COSTS at most */
	struct interns functions;     /* object, file and name, each with its end */
	struct interns entries;	      /* which function calls which from which line */
	VEC(struct call_costs) costs; /* of the entries */
	struct strbuf key;
	uint64_t totals[CALL_GRAPH_COSTS]; /* of all stacks */
	/* the stack at hand */
	uint64_t stack, stack_costs[CALL_GRAPH_COSTS];
	size_t last; /* CALL_OWN: no frame yet */
	uint32_t last_line;
};

void call_graph_done(struct call_graph *graph);

/*
 * A stack: begin, then a push for each frame from the root on, with the line that it is at (0:
 * unknown), then end, which makes the last frame's function the one whose own costs these are. A
 * call that a stack contains more than once (recursion) counts once. Strings are copied. 0 or
 * -ENOMEM.
 */
void call_graph_begin(struct call_graph *graph, const uint64_t *costs);
int call_graph_push(struct call_graph *graph, const struct call_function *function, uint32_t line);
int call_graph_end(struct call_graph *graph);

struct call_entry {
	size_t function; /* a number from 0 on, for call_graph_function */
	size_t callee;	 /* CALL_OWN: the function's own costs at that line */
	uint32_t line;
	const uint64_t *costs;
};
#define CALL_OWN SIZE_MAX

/*
 * Hands over all entries, sorted by function, its own costs first, then line and callee. Once
 * begun, no more stacks may come. 0, -ENOMEM, or what fn returned when not 0.
 */
typedef int (*call_entry_fn)(const struct call_entry *entry, void *userdata);
int call_graph_walk(struct call_graph *graph, call_entry_fn fn, void *userdata);

/* Valid until the graph is freed. */
struct call_function call_graph_function(const struct call_graph *graph, size_t index);

#endif
