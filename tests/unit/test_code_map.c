/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/code/code_map.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void add(struct code_map *map, uint64_t start, uint64_t end)
{
	assert_int_equal(code_map_add(map, &(struct code_range){ .start = start, .end = end }), 0);
}

static void a_later_range_is_found_before_an_earlier_one(void **state)
{
	struct code_map map = {};

	(void)state;
	assert_null(code_map_find(&map, 0x1000));
	add(&map, 0x1000, 0x4000);
	add(&map, 0x2000, 0x3000);
	assert_int_equal(code_map_find(&map, 0x1fff)->start, 0x1000);
	assert_int_equal(code_map_find(&map, 0x2000)->start, 0x2000);
	assert_int_equal(code_map_find(&map, 0x3000)->start, 0x1000);
	assert_null(code_map_find(&map, 0x4000));
	code_map_done(&map);
}

/* Removes those that start below; -EIO at the one that starts there. */
static int remove_below(const struct code_range *range, void *userdata)
{
	const uint64_t *limit = userdata;

	return range->start == *limit ? -EIO : range->start < *limit;
}

static void what_is_removed_leaves_the_order_of_the_rest(void **state)
{
	struct code_map map = {};
	uint64_t limit = 0x2800;

	(void)state;
	add(&map, 0x3000, 0x4000);
	add(&map, 0x1000, 0x2000);
	add(&map, 0x5000, 0x6000);
	assert_int_equal(code_map_remove(&map, remove_below, &limit), 0);
	assert_int_equal(map.ranges.len, 2);
	assert_int_equal(map.ranges.data[0].start, 0x3000);
	assert_int_equal(map.ranges.data[1].start, 0x5000);
	code_map_done(&map);
}

static void an_error_ends_removing(void **state)
{
	struct code_map map = {};
	uint64_t limit = 0x3000;

	(void)state;
	add(&map, 0x1000, 0x2000);
	add(&map, 0x3000, 0x4000);
	add(&map, 0x2000, 0x3000);
	assert_int_equal(code_map_remove(&map, remove_below, &limit), -EIO);
	assert_int_equal(map.ranges.len, 2);
	assert_int_equal(map.ranges.data[0].start, 0x3000);
	assert_int_equal(map.ranges.data[1].start, 0x2000);
	code_map_done(&map);
}

static void a_copy_has_the_same_ranges(void **state)
{
	struct code_map map = {}, copy = {};

	(void)state;
	add(&map, 0x1000, 0x2000);
	add(&map, 0x3000, 0x4000);
	assert_int_equal(code_map_copy(&copy, &map), 0);
	assert_int_equal(copy.ranges.len, 2);
	assert_int_equal(copy.ranges.data[1].end, 0x4000);
	code_map_done(&map);
	code_map_done(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_later_range_is_found_before_an_earlier_one),
		cmocka_unit_test(what_is_removed_leaves_the_order_of_the_rest),
		cmocka_unit_test(an_error_ends_removing),
		cmocka_unit_test(a_copy_has_the_same_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
