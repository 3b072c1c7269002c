/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/call_graph.h"

#include <stdlib.h>
#include <string.h>

struct entry_key {
	uint64_t function, callee, line; /* 64 bits each: no padding */
};

void call_graph_done(struct call_graph *graph)
{
	interns_done(&graph->functions);
	interns_done(&graph->entries);
	vec_done(&graph->costs);
	strbuf_done(&graph->key);
}

void call_graph_begin(struct call_graph *graph, const uint64_t *costs)
{
	graph->stack++;
	graph->last = CALL_OWN;
	memcpy(graph->stack_costs, costs, graph->n_costs * sizeof(*costs));
	for (size_t i = 0; i < graph->n_costs; i++)
		graph->totals[i] += costs[i];
}

static int add_entry(struct call_graph *graph, size_t callee)
{
	const struct entry_key key = {
		.function = graph->last,
		.callee = callee,
		.line = graph->last_line,
	};
	struct call_costs *entry;
	size_t index;
	int r = interns_add(&graph->entries, &key, sizeof(key), &index);

	if (r == 1)
		r = vec_push(&graph->costs, (struct call_costs){ 0 });
	if (r < 0)
		return r;
	entry = &graph->costs.data[index];
	if (entry->stack == graph->stack)
		return 0;
	entry->stack = graph->stack;
	for (size_t i = 0; i < graph->n_costs; i++)
		entry->costs[i] += graph->stack_costs[i];
	return 0;
}

int call_graph_push(struct call_graph *graph, const struct call_function *function, uint32_t line)
{
	size_t index;
	int r;

	strbuf_reset(&graph->key);
	strbuf_add(&graph->key, function->object, strlen(function->object) + 1);
	strbuf_add(&graph->key, function->file, strlen(function->file) + 1);
	strbuf_add(&graph->key, function->name, strlen(function->name) + 1);
	r = strbuf_error(&graph->key);
	if (r == 0)
		r = interns_add(&graph->functions, strbuf_str(&graph->key), graph->key.len, &index);
	if (r >= 0 && graph->last != CALL_OWN)
		r = add_entry(graph, index);
	if (r < 0)
		return r;
	graph->last = index;
	graph->last_line = line;
	return 0;
}

int call_graph_end(struct call_graph *graph)
{
	return graph->last == CALL_OWN ? 0 : add_entry(graph, CALL_OWN);
}

static int three_way(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_entries(const void *a, const void *b, void *userdata)
{
	const struct call_graph *graph = userdata;
	const struct entry_key *x = interns_get(&graph->entries, *(const size_t *)a);
	const struct entry_key *y = interns_get(&graph->entries, *(const size_t *)b);
	int order = three_way(x->function, y->function);

	if (order == 0)
		order = (x->callee != CALL_OWN) - (y->callee != CALL_OWN);
	if (order == 0)
		order = three_way(x->line, y->line);
	return order ? order : three_way(x->callee, y->callee);
}

int call_graph_walk(struct call_graph *graph, call_entry_fn fn, void *userdata)
{
	size_t n = interns_count(&graph->entries);
	_cleanup_free_ size_t *order = calloc(n + 1, sizeof(*order));
	int r = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_entries, graph);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct entry_key *key = interns_get(&graph->entries, order[i]);
		const struct call_entry entry = {
			.function = key->function,
			.callee = key->callee,
			.line = (uint32_t)key->line,
			.costs = graph->costs.data[order[i]].costs,
		};

		r = fn(&entry, userdata);
	}
	return r;
}

struct call_function call_graph_function(const struct call_graph *graph, size_t index)
{
	struct call_function function;

	function.object = interns_get(&graph->functions, index);
	function.file = function.object + strlen(function.object) + 1;
	function.name = function.file + strlen(function.file) + 1;
	return function;
}
