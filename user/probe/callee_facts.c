/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/callee_facts.h"

#include "base/cleanup.h"
#include "probe/allocators.h"
#include "probe/sites.h"

#include <stdlib.h>

/* Functions that one call may reach: glibc's malloc_consolidate reaches three. */
#define MAX_REACHED 16

struct closure {
	struct callee_facts *facts;
	VEC(uint64_t) functions;
	bool is_loud;
};

static void closure_done(struct closure *closure)
{
	vec_done(&closure->functions);
}

void callee_facts_done(struct callee_facts *facts)
{
	vec_done(&facts->found);
	code_graph_done(&facts->last);
}

/* The code at `addr` as a graph, and what of it can be reached. *ret_is_reached: NULL: unknown. */
static int load(struct callee_facts *facts, uint64_t addr, struct code_graph *ret_graph,
		bool **ret_is_reached)
{
	const char *why;
	int r = code_graph_new(facts->decoder, facts->code, addr, facts->emulation,
			       &facts->steps_left, ret_graph, &why);

	*ret_is_reached = NULL;
	return r < 0 || why ? r : code_graph_reach(ret_graph, ret_is_reached);
}

/* Does a way lead to a return, or to code that nobody knows? */
static int find_returns(struct callee_facts *facts, uint64_t addr, bool *ret_returns)
{
	_cleanup_(code_graph_done) struct code_graph graph = { 0 };
	_cleanup_free_ bool *is_reached = NULL;
	int r = load(facts, addr, &graph, &is_reached);

	*ret_returns = !is_reached;
	for (size_t i = 0; is_reached && i < graph.n; i++)
		*ret_returns |= is_reached[i] &&
				(graph.nodes[i].flow == INSN_RETURN || graph.nodes[i].leaves);
	return r;
}

/* Of a function that has not been asked for before, too. */
static int fact_of(struct callee_facts *facts, uint64_t addr, size_t *ret_at)
{
	struct callee_fact fact = { .addr = addr };
	int r;

	for (*ret_at = 0; *ret_at < facts->found.len; ++*ret_at)
		if (facts->found.data[*ret_at].addr == addr)
			return 0;
	r = find_returns(facts, addr, &fact.returns);
	return r ? r : vec_push(&facts->found, fact);
}

/* Ends the calls that do not return. 0 or -ENOMEM. */
static int end_calls(struct callee_facts *facts, struct code_graph *graph)
{
	size_t at;
	int r = 0;

	for (size_t i = 0; i < graph->n && r == 0; i++) {
		if (graph->nodes[i].flow != INSN_CALL || !graph->nodes[i].callee ||
		    graph->nodes[i].is_quiet)
			continue;
		r = fact_of(facts, graph->nodes[i].callee, &at);
		if (r == 0 && !facts->found.data[at].returns)
			code_graph_end_call(graph, (uint16_t)i);
	}
	return r;
}

static bool is_counted(const struct callee_facts *facts, uint64_t addr)
{
	const char *name = facts->code->function_name(facts->code->ctx, addr);

	return name && allocator_function_find(name);
}

static int add_function(struct closure *closure, uint64_t addr)
{
	for (size_t i = 0; i < closure->functions.len; i++)
		if (closure->functions.data[i] == addr)
			return 0;
	if (closure->functions.len == MAX_REACHED || is_counted(closure->facts, addr)) {
		closure->is_loud = true;
		return 0;
	}
	return vec_push(&closure->functions, addr);
}

static int add_node(struct closure *closure, const struct code_node *node)
{
	bool goes = node->flow == INSN_CALL || node->leaves;

	if (node->effect.kind == EFFECT_SYSTEM_CALL || node->effect.kind == EFFECT_UNKNOWN ||
	    (goes && !node->is_quiet && !node->callee))
		closure->is_loud = true;
	return goes && !node->is_quiet && node->callee ? add_function(closure, node->callee) : 0;
}

static int add_nodes_of(struct closure *closure, uint64_t addr)
{
	_cleanup_(code_graph_done) struct code_graph graph = { 0 };
	_cleanup_free_ bool *is_reached = NULL;
	int r = load(closure->facts, addr, &graph, &is_reached);

	if (!is_reached)
		closure->is_loud = true;
	else if (r == 0)
		r = end_calls(closure->facts, &graph);
	/* Once more, without what the calls that have been ended would lead to. */
	free(TAKE_PTR(is_reached));
	if (r == 0 && !closure->is_loud)
		r = code_graph_reach(&graph, &is_reached);
	for (size_t i = 0; is_reached && i < graph.n && r == 0 && !closure->is_loud; i++)
		if (is_reached[i])
			r = add_node(closure, &graph.nodes[i]);
	return r;
}

static int find_quiet(struct callee_facts *facts, uint64_t addr, bool *ret_is_quiet)
{
	_cleanup_(closure_done) struct closure closure = { .facts = facts };
	int r = add_function(&closure, addr);

	for (size_t i = 0; i < closure.functions.len && r == 0 && !closure.is_loud; i++)
		r = add_nodes_of(&closure, closure.functions.data[i]);
	*ret_is_quiet = r == 0 && !closure.is_loud;
	return r;
}

static int is_quiet(struct callee_facts *facts, uint64_t addr, bool *ret_is_quiet)
{
	size_t at;
	int r = fact_of(facts, addr, &at);

	if (r == 0 && !facts->found.data[at].knows_quiet) {
		r = find_quiet(facts, addr, ret_is_quiet);
		facts->found.data[at].is_quiet = *ret_is_quiet;
		facts->found.data[at].knows_quiet = true;
	}
	*ret_is_quiet = r == 0 && facts->found.data[at].is_quiet;
	return r;
}

int callee_facts_apply(struct callee_facts *facts, struct code_graph *graph)
{
	int r = end_calls(facts, graph);
	bool quiet;

	for (size_t i = 0; i < graph->n && r == 0; i++) {
		struct code_node *node = &graph->nodes[i];

		if (node->flow != INSN_CALL || !node->callee || node->is_quiet)
			continue;
		r = is_quiet(facts, node->callee, &quiet);
		node->is_quiet = r == 0 && quiet;
	}
	return r;
}

static int load_last(struct callee_facts *facts, uint64_t addr)
{
	int r;

	code_graph_done(&facts->last);
	facts->last_addr = addr;
	r = code_graph_new(facts->decoder, facts->code, addr, facts->emulation, &facts->steps_left,
			   &facts->last, &facts->last_why);
	if (r == 0 && !facts->last_why)
		r = callee_facts_apply(facts, &facts->last);
	if (r == 0 && !facts->last_why)
		code_graph_find_own(&facts->last, facts->code);
	return r;
}

int callee_facts_graph(struct callee_facts *facts, uint64_t addr,
		       const struct code_graph **ret_graph)
{
	int r = facts->last.nodes && facts->last_addr == addr ? 0 : load_last(facts, addr);

	*ret_graph = r < 0 || facts->last_why ? NULL : &facts->last;
	return r;
}
