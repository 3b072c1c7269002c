/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/range_map.h"

#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct row {
	uint64_t start, end, rank;
};

static struct range_map build(const struct row *rows, size_t n)
{
	struct range_map map = {};

	for (size_t i = 0; i < n; i++)
		assert_int_equal(
			range_map_add(&map, rows[i].start, rows[i].end, rows[i].rank, 1000 + i), 0);
	assert_int_equal(range_map_build(&map), 0);
	return map;
}

/* The value of the row that should win, 0 for none. */
static uint64_t expected(const struct row *rows, size_t n, uint64_t addr)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (addr >= rows[i].start && addr < rows[i].end &&
		    (best == n || rows[i].rank > rows[best].rank))
			best = i;
	return best == n ? 0 : 1000 + best;
}

static void an_empty_map_holds_nothing(void **state)
{
	_cleanup_(range_map_done) struct range_map map = build(NULL, 0);
	uint64_t value;

	(void)state;
	assert_false(range_map_find(&map, 0, &value));
	assert_false(range_map_find(&map, UINT64_MAX, &value));
}

static void empty_ranges_are_refused(void **state)
{
	_cleanup_(range_map_done) struct range_map map = {};

	(void)state;
	assert_int_equal(range_map_add(&map, 5, 5, 0, 0), -EINVAL);
	assert_int_equal(range_map_add(&map, 6, 5, 0, 0), -EINVAL);
}

static void the_last_addresses_are_found(void **state)
{
	static const struct row rows[] = { { UINT64_MAX - 4, UINT64_MAX, 0 }, { 0, 1, 1 } };
	_cleanup_(range_map_done) struct range_map map = build(rows, 2);
	uint64_t value = 0;

	(void)state;
	assert_true(range_map_find(&map, UINT64_MAX - 1, &value));
	assert_int_equal(value, 1000);
	assert_true(range_map_find(&map, 0, &value));
	assert_int_equal(value, 1001);
	assert_false(range_map_find(&map, 1, &value));
}

static void the_highest_rank_wins_wherever_ranges_overlap(void **state)
{
	uint64_t random = 12345;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct row rows[24];
		size_t n = 1 + (size_t)round % 24;
		_cleanup_(range_map_done) struct range_map map = {};

		for (size_t i = 0; i < n; i++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			rows[i].start = random >> 40 & 63;
			rows[i].end = rows[i].start + 1 + (random >> 50 & 31);
			/* Distinct, and in no order: 7 has no factor in common with 24. */
			rows[i].rank = i * 7 % 24;
		}
		map = build(rows, n);
		for (uint64_t addr = 0; addr < 100; addr++) {
			uint64_t value = 0;

			(void)range_map_find(&map, addr, &value); /* value stays 0 */
			assert_int_equal(value, expected(rows, n, addr));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_holds_nothing),
		cmocka_unit_test(empty_ranges_are_refused),
		cmocka_unit_test(the_last_addresses_are_found),
		cmocka_unit_test(the_highest_rank_wins_wherever_ranges_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
