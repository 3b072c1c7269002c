/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#define SPAN 200

static void check_against(const struct ranges *ranges, const bool *expected)
{
	bool found[SPAN] = { false };
	uint64_t last_end = 0;

	for (size_t i = 0; i < ranges->list.len; i++) {
		const struct range *range = &ranges->list.data[i];

		assert_true(range->start < range->end && range->end <= SPAN);
		/* Neighbours are one. */
		assert_true(i == 0 || range->start > last_end);
		last_end = range->end;
		memset(found + range->start, true, range->end - range->start);
	}
	assert_memory_equal(found, expected, SPAN);
}

static void a_range_that_touches_others_joins_them(void **state)
{
	struct ranges ranges = { 0 };

	(void)state;
	assert_int_equal(ranges_add(&ranges, 10, 20), 0);
	assert_int_equal(ranges_add(&ranges, 30, 40), 0);
	assert_int_equal(ranges_add(&ranges, 7, 7), 0);
	assert_int_equal(ranges.list.len, 2);
	assert_int_equal(ranges_add(&ranges, 20, 30), 0);
	assert_int_equal(ranges.list.len, 1);
	assert_int_equal(ranges.list.data[0].start, 10);
	assert_int_equal(ranges.list.data[0].end, 40);
	ranges_done(&ranges);
}

static void what_is_taken_from_the_middle_leaves_both_ends(void **state)
{
	struct ranges ranges = { 0 }, copy = { 0 };

	(void)state;
	assert_int_equal(ranges_add(&ranges, 10, 40), 0);
	assert_int_equal(ranges_remove(&ranges, 20, 30), 0);
	assert_int_equal(ranges.list.len, 2);
	assert_int_equal(ranges.list.data[0].end, 20);
	assert_int_equal(ranges.list.data[1].start, 30);
	assert_int_equal(ranges_copy(&copy, &ranges), 0);
	assert_int_equal(ranges_remove(&ranges, 0, 100), 0);
	assert_int_equal(ranges.list.len, 0);
	assert_int_equal(copy.list.len, 2);
	ranges_done(&ranges);
	ranges_done(&copy);
}

static void random_changes_leave_what_a_bitmap_has(void **state)
{
	struct ranges ranges = { 0 };
	bool expected[SPAN] = { false };
	unsigned int seed = 7;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		uint64_t start = (uint64_t)rand_r(&seed) % SPAN;
		uint64_t len = (uint64_t)rand_r(&seed) % (SPAN - start) / (1 + (i % 7));
		bool add = rand_r(&seed) % 2;
		int r = add ? ranges_add(&ranges, start, start + len) :
			      ranges_remove(&ranges, start, start + len);

		assert_int_equal(r, 0);
		memset(expected + start, add, len);
		check_against(&ranges, expected);
	}
	ranges_done(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_that_touches_others_joins_them),
		cmocka_unit_test(what_is_taken_from_the_middle_leaves_both_ends),
		cmocka_unit_test(random_changes_leave_what_a_bitmap_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
