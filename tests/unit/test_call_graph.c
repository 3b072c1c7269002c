/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/call_graph.h"

#include "base/strbuf.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void push(struct call_graph *graph, const char *name, uint32_t line)
{
	const struct call_function function = { .object = "", .file = "", .name = name };

	assert_int_equal(call_graph_push(graph, &function, line), 0);
}

struct text {
	const struct call_graph *graph;
	struct strbuf out;
};

/* "main:3 make 10 1\n", a function's own costs without a callee. */
static int add_entry(const struct call_entry *entry, void *userdata)
{
	struct text *text = userdata;

	strbuf_addf(&text->out, "%s:%" PRIu32,
		    call_graph_function(text->graph, entry->function).name, entry->line);
	if (entry->callee != CALL_OWN)
		strbuf_addf(&text->out, " %s",
			    call_graph_function(text->graph, entry->callee).name);
	strbuf_addf(&text->out, " %" PRIu64 " %" PRIu64 "\n", entry->costs[0], entry->costs[1]);
	return 0;
}

static void assert_graph(struct call_graph *graph, const char *expected)
{
	struct text text = { .graph = graph };

	assert_int_equal(call_graph_walk(graph, add_entry, &text), 0);
	assert_string_equal(strbuf_str(&text.out), expected);
	strbuf_done(&text.out);
}

static void lines_and_callees_have_sums_of_their_own(void **state)
{
	_cleanup_(call_graph_done) struct call_graph graph = { .n_costs = 2 };

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		call_graph_begin(&graph, (const uint64_t[]){ 10, 1 });
		push(&graph, "main", i == 2 ? 4 : 3);
		push(&graph, "make", 8);
		assert_int_equal(call_graph_end(&graph), 0);
	}
	call_graph_begin(&graph, (const uint64_t[]){ 5, 1 });
	push(&graph, "main", 3);
	assert_int_equal(call_graph_end(&graph), 0);
	assert_graph(&graph, "main:3 5 1\nmain:3 make 20 2\nmain:4 make 10 1\nmake:8 30 3\n");
	assert_int_equal(graph.totals[0], 35);
	assert_int_equal(graph.totals[1], 4);
}

static void a_call_counts_once_in_a_stack_that_has_it_twice(void **state)
{
	_cleanup_(call_graph_done) struct call_graph graph = { .n_costs = 2 };

	(void)state;
	call_graph_begin(&graph, (const uint64_t[]){ 7, 1 });
	push(&graph, "main", 1);
	for (int i = 0; i < 3; i++)
		push(&graph, "walk", 2);
	assert_int_equal(call_graph_end(&graph), 0);
	assert_graph(&graph, "main:1 walk 7 1\nwalk:2 7 1\nwalk:2 walk 7 1\n");
}

static void names_are_told_apart_by_file_and_object(void **state)
{
	_cleanup_(call_graph_done) struct call_graph graph = { .n_costs = 2 };
	static const struct call_function all[] = {
		{ .object = "a", .file = "x.c", .name = "f" },
		{ .object = "b", .file = "x.c", .name = "f" },
		{ .object = "a", .file = "y.c", .name = "f" },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		call_graph_begin(&graph, (const uint64_t[]){ 1, 1 });
		assert_int_equal(call_graph_push(&graph, &all[i], 0), 0);
		assert_int_equal(call_graph_end(&graph), 0);
	}
	assert_graph(&graph, "f:0 1 1\nf:0 1 1\nf:0 1 1\n");
	assert_string_equal(call_graph_function(&graph, 1).object, "b");
	assert_string_equal(call_graph_function(&graph, 2).file, "y.c");
}

static void a_stack_without_frames_has_costs_of_nobody(void **state)
{
	_cleanup_(call_graph_done) struct call_graph graph = { .n_costs = 2 };

	(void)state;
	call_graph_begin(&graph, (const uint64_t[]){ 3, 1 });
	assert_int_equal(call_graph_end(&graph), 0);
	assert_graph(&graph, "");
	assert_int_equal(graph.totals[0], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_callees_have_sums_of_their_own),
		cmocka_unit_test(a_call_counts_once_in_a_stack_that_has_it_twice),
		cmocka_unit_test(names_are_told_apart_by_file_and_object),
		cmocka_unit_test(a_stack_without_frames_has_costs_of_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
