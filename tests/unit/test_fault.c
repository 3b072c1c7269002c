/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/live_cuts.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void the_nearest_block_is_the_one_that_is_named(void **state)
{
	static const struct near_block block = { 0x10000, 0x100, false };
	static const struct {
		struct near_block other;
		uint64_t addr;
		bool better; /* than the block */
	} rows[] = {
		{ { 0x20000, 0x100, false }, 0x10000, false },
		{ { 0x20000, 0x100, false }, 0x1807f, false },
		{ { 0x20000, 0x100, false }, 0x18080, true },
		{ { 0x10000, 0x100, true }, 0x10080, false }, /* handed out again */
		{ { 0x10080, 0, true }, 0x10110, false },
		{ { 0x10100, 1, true }, 0x10100, true }, /* right behind it, and in the other */
		{ { 0x300000, 0x100, false }, 0x200000, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (near_block_is_better(&rows[i].other, &block, rows[i].addr) != rows[i].better)
			fail_msg("row %zu", i);
}

static void distances_are_to_the_nearer_end(void **state)
{
	static const struct near_block block = { 0x100000, 16, false },
				       empty = { 0x100000, 0, false };

	(void)state;
	assert_int_equal(near_block_distance(&block, 0x100000), 0);
	assert_int_equal(near_block_distance(&block, 0x10000f), 0);
	assert_int_equal(near_block_distance(&block, 0x100010), 1);
	assert_int_equal(near_block_distance(&block, 0xfffff), 1);
	assert_int_equal(near_block_distance(&empty, 0x100000), 0);
	assert_int_equal(near_block_distance(&empty, 0x100001), 1);
	assert_int_equal(near_block_distance(&block, 0), LIVE_FAULT_NEAR);
	assert_true(near_block_distance(&block, 0x100010 + LIVE_FAULT_NEAR) == UINT64_MAX);
	assert_true(near_block_distance(&block, UINT64_MAX) == UINT64_MAX);
}

/* One that fails all the time is searched for all the time. */
static uint64_t searched_ns(uint64_t run_ns, uint64_t search_ns)
{
	const uint64_t begin_ns = 1000 * SECOND_NS;
	uint64_t paid_ns = 0, sum_ns = 0;

	for (uint64_t now_ns = begin_ns; now_ns < begin_ns + run_ns; now_ns += search_ns) {
		if (!clock_share_is_left(paid_ns, now_ns))
			continue;
		paid_ns = clock_share_pay(paid_ns, now_ns, now_ns + search_ns);
		sum_ns += search_ns;
	}
	return sum_ns;
}

static void searches_take_a_share_of_the_time(void **state)
{
	static const struct {
		uint64_t run_ms, search_ms, least_ms, most_ms;
	} rows[] = {
		{ 100, 1, 100, 100 },	      { 1000, 1000, 1000, 1000 }, { 10000, 10, 2400, 2700 },
		{ 100000, 1000, 6000, 8000 }, { 100000, 1, 6900, 7200 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_in_range(searched_ns(rows[i].run_ms * MS_NS, rows[i].search_ms * MS_NS) /
					MS_NS,
				rows[i].least_ms, rows[i].most_ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_block_is_the_one_that_is_named),
		cmocka_unit_test(distances_are_to_the_nearer_end),
		cmocka_unit_test(searches_take_a_share_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
