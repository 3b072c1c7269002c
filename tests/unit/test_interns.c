/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/interns.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void equal_bytes_have_one_number_in_order(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		int r;
		size_t index;
	} steps[] = {
		{ "one", 3, 1, 0 }, { "two", 3, 1, 1 },	   { "one", 3, 0, 0 },	  { "", 0, 1, 2 },
		{ "two", 3, 0, 1 }, { "one", 4, 1, 3 },	   { "\0a\0b", 4, 1, 4 }, { "", 0, 0, 2 },
		{ "tw", 2, 1, 5 },  { "\0a\0c", 4, 1, 6 }, { "\0a\0b", 4, 0, 4 },
	};
	_cleanup_(interns_done) struct interns interns = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t index;

		assert_int_equal(interns_add(&interns, steps[i].data, steps[i].len, &index),
				 steps[i].r);
		assert_int_equal(index, steps[i].index);
		assert_memory_equal(interns_get(&interns, index), steps[i].data, steps[i].len);
	}
	assert_int_equal(interns_count(&interns), 7);
}

static void what_was_given_stays_where_it_is(void **state)
{
	_cleanup_(interns_done) struct interns interns = { 0 };
	const char *first;
	size_t index;

	(void)state;
	assert_int_equal(interns_add_string(&interns, "first", &index), 1);
	first = interns_get(&interns, index);
	for (uint64_t i = 0; i < 100000; i++) {
		assert_int_equal(interns_add(&interns, &i, sizeof(i), &index), 1);
		assert_int_equal(index, i + 1);
	}
	assert_ptr_equal(interns_get(&interns, 0), first);
	assert_string_equal(first, "first");
	assert_int_equal(*(const uint64_t *)interns_get(&interns, 100000), 99999);
	assert_int_equal(interns_add_string(&interns, "first", &index), 0);
	assert_int_equal(index, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_bytes_have_one_number_in_order),
		cmocka_unit_test(what_was_given_stays_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
