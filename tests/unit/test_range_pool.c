/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/unwind/range_pool.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ENTRIES 64

static int setup(void **state)
{
	return range_pool_new(1, ENTRIES, (struct range_pool **)state);
}

static int teardown(void **state)
{
	range_pool_free(*state);
	return 0;
}

static uint32_t take(struct range_pool *pool, uint32_t n)
{
	uint32_t first;

	assert_int_equal(range_pool_take(pool, n, &first), 0);
	return first;
}

static void takes_the_lowest_and_no_more_than_there_is(void **state)
{
	uint32_t first = 77;

	assert_int_equal(take(*state, 10), 1);
	assert_int_equal(take(*state, 1), 11);
	assert_int_equal(take(*state, ENTRIES - 12), 12);
	assert_int_equal(range_pool_used(*state), ENTRIES - 1);
	assert_int_equal(range_pool_take(*state, 1, &first), -ENOSPC);
	assert_int_equal(first, 77);
}

static void retired_entries_wait_for_both_steps(void **state)
{
	uint32_t first = take(*state, ENTRIES - 1);

	range_pool_retire(*state, first, 8);
	range_pool_reuse(*state);
	assert_int_equal(range_pool_take(*state, 1, &first), -ENOSPC);
	assert_int_equal(range_pool_retired(*state), 8);
	range_pool_grace(*state);
	assert_int_equal(range_pool_take(*state, 1, &first), -ENOSPC);
	/* Retired after that grace period: waits for the next. */
	range_pool_retire(*state, 20, 8);
	range_pool_reuse(*state);
	assert_int_equal(range_pool_retired(*state), 8);
	assert_int_equal(take(*state, 8), 1);
	assert_int_equal(range_pool_take(*state, 1, &first), -ENOSPC);
}

static void neighbours_become_one_range_again(void **state)
{
	uint32_t a = take(*state, 21), b = take(*state, 21), c = take(*state, 21);
	const uint32_t orders[][3] = { { a, b, c }, { c, b, a }, { a, c, b }, { b, a, c } };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		for (size_t k = 0; k < 3; k++)
			range_pool_retire(*state, orders[i][k], 21);
		range_pool_grace(*state);
		range_pool_reuse(*state);
		assert_int_equal(take(*state, ENTRIES - 1), 1);
		assert_int_equal(range_pool_used(*state), ENTRIES - 1);
	}
}

/* Against an array of what each entry is. */
static void never_hands_out_what_is_in_use(void **state)
{
	enum { FREE, USED, RETIRED, GRACED } model[ENTRIES] = { 0 };
	uint32_t random = 1, taken[ENTRIES], n_taken[ENTRIES], live = 0;

	for (size_t round = 0; round < 20000; round++) {
		uint32_t n, first;

		random = random * 1664525 + 1013904223;
		n = 1 + (random >> 16) % 9;
		switch (random >> 28 & 7) {
		case 0:
			range_pool_grace(*state);
			for (size_t i = 1; i < ENTRIES; i++)
				model[i] = model[i] == RETIRED ? GRACED : model[i];
			break;
		case 1:
			range_pool_reuse(*state);
			for (size_t i = 1; i < ENTRIES; i++)
				model[i] = model[i] == GRACED ? FREE : model[i];
			break;
		case 2:
		case 3:
		case 4:
			if (!live)
				break;
			n = (random >> 16) % live--;
			range_pool_retire(*state, taken[n], n_taken[n]);
			for (uint32_t i = 0; i < n_taken[n]; i++)
				model[taken[n] + i] = RETIRED;
			taken[n] = taken[live];
			n_taken[n] = n_taken[live];
			break;
		default:
			if (range_pool_take(*state, n, &first))
				break;
			for (uint32_t i = 0; i < n; i++) {
				assert_in_range(first + i, 1, ENTRIES - 1);
				assert_int_equal(model[first + i], FREE);
				model[first + i] = USED;
			}
			taken[live] = first;
			n_taken[live++] = n;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(takes_the_lowest_and_no_more_than_there_is, setup,
						teardown),
		cmocka_unit_test_setup_teardown(retired_entries_wait_for_both_steps, setup,
						teardown),
		cmocka_unit_test_setup_teardown(neighbours_become_one_range_again, setup, teardown),
		cmocka_unit_test_setup_teardown(never_hands_out_what_is_in_use, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
