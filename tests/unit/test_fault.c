/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/live_cuts.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_block_is_the_one_that_is_named),
		cmocka_unit_test(distances_are_to_the_nearer_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
