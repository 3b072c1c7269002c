/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/sample_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND 1000000000ULL

/* Takes n samples; the shortest and the longest wait for the next. */
static void measure(struct sample_clock *clock, unsigned int halvings, uint64_t took_ns, size_t n,
		    uint64_t *ret_shortest, uint64_t *ret_longest)
{
	uint64_t now = clock->next_ns;

	*ret_shortest = UINT64_MAX;
	*ret_longest = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t wait;

		sample_clock_taken(clock, halvings, took_ns, now);
		wait = clock->next_ns - now;
		assert_false(sample_clock_is_due(clock, clock->next_ns - 1));
		assert_true(sample_clock_is_due(clock, clock->next_ns));
		*ret_shortest = wait < *ret_shortest ? wait : *ret_shortest;
		*ret_longest = wait > *ret_longest ? wait : *ret_longest;
		now = clock->next_ns;
	}
}

static void assert_interval(struct sample_clock *clock, unsigned int halvings, uint64_t took_ns,
			    uint64_t interval)
{
	uint64_t shortest, longest;

	measure(clock, halvings, took_ns, 200, &shortest, &longest);
	assert_in_range(shortest, interval * 3 / 4, interval * 4 / 5);
	assert_in_range(longest, interval * 6 / 5, interval * 5 / 4);
}

static void waits_are_spread_by_a_quarter(void **state)
{
	struct sample_clock clock;

	(void)state;
	sample_clock_init(&clock, SECOND, 5 * SECOND);
	assert_in_range(clock.next_ns, 5 * SECOND + SECOND * 3 / 4, 5 * SECOND + SECOND * 5 / 4);
	assert_interval(&clock, 0, 1000, SECOND);
	assert_interval(&clock, 1, 1000, 2 * SECOND);
	assert_interval(&clock, 10, 1000, 1024 * SECOND);
}

static void samples_take_a_fiftieth_of_the_time_at_most(void **state)
{
	struct sample_clock clock;

	(void)state;
	sample_clock_init(&clock, SECOND / 100, 0);
	assert_interval(&clock, 0, SECOND / 10, 5 * SECOND);
	assert_interval(&clock, 20, SECOND / 10, 1048576 * SECOND / 100);
	clock.cost_share = 1000;
	assert_interval(&clock, 0, SECOND / 10, 100 * SECOND);
	assert_interval(&clock, 0, SECOND / 1000000, SECOND / 100);
}

static void no_interval_is_beyond_some_days(void **state)
{
	static const struct {
		uint64_t interval_ns, took_ns;
		unsigned int halvings;
	} rows[] = { { UINT64_MAX, 0, 0 }, { 1, UINT64_MAX, 0 }, { 1, 0, UINT32_MAX } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct sample_clock clock;
		uint64_t now = 77 * SECOND;

		sample_clock_init(&clock, rows[i].interval_ns, now);
		sample_clock_taken(&clock, rows[i].halvings, rows[i].took_ns, now);
		assert_in_range(clock.next_ns, now + 18 * 3600 * SECOND, now + 60 * 3600 * SECOND);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_are_spread_by_a_quarter),
		cmocka_unit_test(samples_take_a_fiftieth_of_the_time_at_most),
		cmocka_unit_test(no_interval_is_beyond_some_days),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
