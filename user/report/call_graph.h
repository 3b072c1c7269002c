/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks summed up as functions, what each costs itself, and which calls from which of its lines
 * lead to how much more: what formats of profilers that count calls hold. For writers.
 */
#ifndef MEMTRACED_REPORT_CALL_GRAPH_H
#define MEMTRACED_REPORT_CALL_GRAPH_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct call_graph;

#define CALL_GRAPH_COSTS 12 /* the most that a stack can have */

struct call_function {
	const char *object, *file, *name; /* "": unknown; never NULL */
};

/* 0 or -ENOMEM. Each stack has `n_costs` numbers, CALL_GRAPH_COSTS at most. */
int call_graph_new(size_t n_costs, struct call_graph **ret_graph);
/* NULL is legal. */
void call_graph_free(struct call_graph *graph);
DEFINE_CLEANUP(struct call_graph, call_graph_free)

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

/* What all stacks cost, n_costs numbers. */
const uint64_t *call_graph_totals(const struct call_graph *graph);

#endif
