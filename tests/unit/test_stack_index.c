/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/code/stack_index.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_stack_is_known_from_when_it_is_added_until_it_is_removed(void **state)
{
	const struct stack_facts facts = { .id = 7, .cut = ABI_CUT_LIMIT, .frames = 20 };
	struct stack_index *index;

	(void)state;
	assert_int_equal(stack_index_new(&index), 0);
	assert_null(stack_index_find(index, 7));
	assert_int_equal(stack_index_add(index, &facts), 0);
	assert_int_equal(stack_index_add(index, &facts), -EEXIST);
	assert_int_equal(stack_index_find(index, 7)->cut, ABI_CUT_LIMIT);
	assert_int_equal(stack_index_frames(index), 20);
	stack_index_remove(index, 7);
	assert_int_equal(stack_index_frames(index), 0);
	assert_null(stack_index_find(index, 7));
	stack_index_free(index);
}

static void code_that_was_gone_explains_only_some_causes(void **state)
{
	static const struct {
		uint8_t before, after;
	} rows[] = {
		{ ABI_CUT_NONE, STACK_CUT_GONE },
		{ ABI_CUT_NO_MAPPING, STACK_CUT_GONE },
		{ STACK_CUT_GENERATED, STACK_CUT_GONE },
		{ STACK_CUT_FRAME_POINTERS, STACK_CUT_GONE },
		{ ABI_CUT_LIMIT, ABI_CUT_LIMIT },
		{ ABI_CUT_UNREADABLE, ABI_CUT_UNREADABLE },
	};
	struct stack_index *index;

	(void)state;
	assert_int_equal(stack_index_new(&index), 0);
	stack_index_set_gone(index, 1); /* not known: nothing happens */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct stack_facts facts = { .id = i + 1, .cut = rows[i].before };

		assert_int_equal(stack_index_add(index, &facts), 0);
		stack_index_set_gone(index, i + 1);
		assert_int_equal(stack_index_find(index, i + 1)->cut, rows[i].after);
	}
	stack_index_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_known_from_when_it_is_added_until_it_is_removed),
		cmocka_unit_test(code_that_was_gone_explains_only_some_causes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
