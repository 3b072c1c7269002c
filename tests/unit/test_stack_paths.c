/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/flame/stack_paths.h"

#include "base/strbuf.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* A path as a string of one-letter frames, root first. */
struct line {
	const char *frames;
	uint64_t value;
	unsigned int side;
};

static void add(struct stack_paths *paths, const struct line *line)
{
	assert_int_equal(stack_paths_begin(paths, line->side, line->value), 0);
	for (const char *at = line->frames; *at; at++) {
		const char name[] = { *at, '\0' };

		assert_int_equal(
			stack_paths_push(paths, *at == 'K' ? PATH_KERNEL : PATH_FRAME, name), 0);
	}
}

static int add_node(const struct path_node *node, void *userdata)
{
	struct strbuf *out = userdata;

	strbuf_addf(out, "%zu%s@%" PRIu64 "=%" PRIu64, node->depth, node->name, node->start,
		    node->values[0]);
	if (node->values[1])
		strbuf_addf(out, "/%" PRIu64, node->values[1]);
	if (node->kind == PATH_KERNEL)
		strbuf_addch(out, '!');
	strbuf_addch(out, ' ');
	return 0;
}

static void nodes_come_after_their_children_with_the_sums(void **state)
{
	static const struct {
		struct line lines[5];
		unsigned int side;
		const char *expected;
	} cases[] = {
		{ { { NULL, 0, 0 } }, 0, "0all@0=0 " },
		{ { { "", 5, 0 } }, 0, "0all@0=5 " },
		{ { { "a", 5, 0 } }, 0, "1a@0=5 0all@0=5 " },
		{ { { "b", 1, 0 }, { "a", 2, 0 } }, 0, "1a@0=2 1b@2=1 0all@0=3 " },
		{ { { "ab", 1, 0 }, { "a", 2, 0 }, { "ab", 4, 0 } }, 0, "2b@2=5 1a@0=7 0all@0=7 " },
		{ { { "abc", 1, 0 }, { "abd", 2, 0 }, { "ae", 4, 0 }, { "f", 8, 0 } },
		  0,
		  "3c@0=1 3d@1=2 2b@0=3 2e@3=4 1a@0=7 1f@7=8 0all@0=15 " },
		{ { { "aa", 1, 0 }, { "aaa", 2, 0 } }, 0, "3a@1=2 2a@0=3 1a@0=3 0all@0=3 " },
		{ { { "ab", 3, 0 }, { "ab", 5, 1 }, { "ac", 7, 1 }, { "d", 9, 0 } },
		  1,
		  "2b@0=3/5 2c@5=0/7 1a@0=3/12 1d@12=9 0all@0=12/12 " },
		{ { { "aK", 3, 0 } }, 0, "2K@0=3! 1a@0=3 0all@0=3 " },
		{ { { "a", UINT64_MAX, 0 }, { "b", 2, 0 } },
		  0,
		  "1a@0=18446744073709551615 1b@18446744073709551615=2 "
		  "0all@0=18446744073709551615 " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(stack_paths_done) struct stack_paths paths = { 0 };
		_cleanup_strbuf_ struct strbuf out = { 0 }, again = { 0 };

		for (const struct line *line = cases[i].lines; line->frames; line++)
			add(&paths, line);
		assert_int_equal(stack_paths_walk(&paths, cases[i].side, add_node, &out), 0);
		assert_string_equal(strbuf_str(&out), cases[i].expected);
		assert_int_equal(stack_paths_walk(&paths, cases[i].side, add_node, &again), 0);
		assert_string_equal(strbuf_str(&again), cases[i].expected);
	}
}

static int refuse(const struct path_node *node, void *userdata)
{
	int *calls = userdata;

	(void)node;
	(*calls)++;
	return -7;
}

static void an_error_ends_the_walk(void **state)
{
	static const struct line line = { "ab", 1, 0 };
	_cleanup_(stack_paths_done) struct stack_paths paths = { 0 };
	int calls = 0;

	(void)state;
	add(&paths, &line);
	assert_int_equal(stack_paths_walk(&paths, 0, refuse, &calls), -7);
	assert_int_equal(calls, 1);
}

static void equal_names_of_other_kinds_are_other_nodes(void **state)
{
	_cleanup_(stack_paths_done) struct stack_paths paths = { 0 };
	_cleanup_strbuf_ struct strbuf out = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stack_paths_begin(&paths, 0, 1), 0);
		assert_int_equal(stack_paths_push(&paths, i ? PATH_FRAME : PATH_KERNEL, "read"), 0);
	}
	assert_int_equal(stack_paths_walk(&paths, 0, add_node, &out), 0);
	assert_string_equal(strbuf_str(&out), "1read@0=1 1read@1=1! 0all@0=2 ");
}

static int add_stack(const struct path_stack *stack, void *userdata)
{
	struct strbuf *out = userdata;

	for (size_t i = 0; i < stack->n; i++)
		strbuf_adds(out, stack->names[i]);
	strbuf_addf(out, "=%" PRIu64 "/%" PRIu64 " ", stack->values[0], stack->values[1]);
	return 0;
}

static void each_path_comes_once_with_both_its_values(void **state)
{
	static const struct line lines[] = {
		{ "b", 9, 1 }, { "ab", 3, 0 }, { "a", 1, 0 }, { "ab", 5, 1 }, { "ab", 4, 0 }
	};
	_cleanup_(stack_paths_done) struct stack_paths paths = { 0 };
	_cleanup_strbuf_ struct strbuf out = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		add(&paths, &lines[i]);
	assert_int_equal(stack_paths_each(&paths, add_stack, &out), 0);
	assert_string_equal(strbuf_str(&out), "a=1/0 ab=7/5 b=0/9 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_come_after_their_children_with_the_sums),
		cmocka_unit_test(an_error_ends_the_walk),
		cmocka_unit_test(equal_names_of_other_kinds_are_other_nodes),
		cmocka_unit_test(each_path_comes_once_with_both_its_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
