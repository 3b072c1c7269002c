/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/watch_series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

/* n points, a second apart, from `start` on, growing by `step` bytes each. */
static void fill(struct watch_series *series, uint64_t start, uint32_t n, uint64_t first,
		 uint64_t step)
{
	for (uint32_t i = 0; i < n; i++)
		watch_series_add(series, start + i * SECOND, first + i * step);
}

static void assert_slope(const struct watch_series *series, uint64_t window_ns, double bytes_per_s)
{
	double slope;

	assert_true(watch_series_slope(series, window_ns, &slope));
	assert_true(fabs(slope - bytes_per_s) <= fabs(bytes_per_s) / 1000 + 1);
}

static void what_fits_is_kept_as_it_was(void **state)
{
	struct watch_series series = {};

	(void)state;
	fill(&series, 5 * SECOND, WATCH_POINTS, MIB, 4096);
	assert_int_equal(series.n, WATCH_POINTS);
	for (uint32_t i = 0; i < WATCH_POINTS; i++) {
		struct watch_point point = watch_series_at(&series, i);

		assert_int_equal(point.time_ns, (5 + i) * SECOND);
		assert_int_equal(point.bytes, MIB + i * 4096);
		assert_int_equal(point.most_bytes, point.bytes);
	}
}

/* A year at one point in ten seconds: the last ones are there, the first one is, all ascend. */
static void old_points_merge_and_recent_ones_do_not(void **state)
{
	const uint64_t n = 365 * 24 * 360;
	struct watch_series series = {};
	uint32_t in_last_minute = 0, in_last_day = 0, older = 0;

	(void)state;
	for (uint64_t i = 0; i < n; i++)
		watch_series_add(&series, i * 10 * SECOND, i * 4096);
	assert_int_equal(series.n, WATCH_POINTS);
	assert_int_equal(watch_series_at(&series, 0).time_ns, 0);
	for (uint32_t i = 0; i < series.n; i++) {
		struct watch_point point = watch_series_at(&series, i);
		uint64_t age = (n - 1) * 10 * SECOND - point.time_ns;

		assert_true(i == 0 || point.time_ns > watch_series_at(&series, i - 1).time_ns);
		assert_int_equal(point.bytes, point.time_ns / 10 / SECOND * 4096);
		in_last_minute += age <= 60 * SECOND;
		in_last_day += age <= 86400 * SECOND;
		older += age > 86400 * SECOND;
	}
	assert_true(in_last_minute >= 3);
	assert_true(in_last_day >= 24);
	assert_true(older >= 8);
}

static void a_peak_is_not_lost_when_its_point_is(void **state)
{
	struct watch_series series = {};
	uint64_t most = 0;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		watch_series_add(&series, i * SECOND, i == 1234 ? 900 * MIB : 10 * MIB);
	for (uint32_t i = 0; i < series.n; i++)
		if (watch_series_at(&series, i).most_bytes > most)
			most = watch_series_at(&series, i).most_bytes;
	assert_int_equal(most, 900 * MIB);
}

static void a_slope_is_that_of_the_window(void **state)
{
	struct watch_series series = {};

	(void)state;
	fill(&series, 0, 600, 100 * MIB, 0);
	assert_slope(&series, 300 * SECOND, 0);
	fill(&series, 600 * SECOND, 100, 100 * MIB, MIB / 4);
	assert_slope(&series, 60 * SECOND, (double)MIB / 4);
	fill(&series, 700 * SECOND, 100, 125 * MIB, 0);
	assert_slope(&series, 60 * SECOND, 0);
}

static void memory_that_is_given_back_has_a_negative_slope(void **state)
{
	struct watch_series series = {};

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		watch_series_add(&series, i * SECOND, (100 - i) * MIB);
	assert_slope(&series, 30 * SECOND, -(double)MIB);
}

/* A collector's sawtooth does not grow, whatever its amplitude. */
static void a_sawtooth_does_not_grow(void **state)
{
	struct watch_series series = {};
	double slope;

	(void)state;
	for (uint32_t i = 0; i < 1200; i++)
		watch_series_add(&series, i * SECOND, 100 * MIB + i % 15 * 4 * MIB);
	assert_true(watch_series_slope(&series, 600 * SECOND, &slope));
	assert_true(fabs(slope) < (double)MIB / 60);
}

static void nothing_is_said_before_the_window_is_over(void **state)
{
	struct watch_series series = {};
	double slope;

	(void)state;
	assert_false(watch_series_slope(&series, SECOND, &slope));
	fill(&series, 100 * SECOND, 60, MIB, MIB);
	assert_false(watch_series_slope(&series, 60 * SECOND, &slope));
	assert_slope(&series, 59 * SECOND, MIB);
	assert_false(watch_series_slope(&series, 2 * SECOND, &slope)); /* three points */
}

/* Suspended, or stopped: a clock that went on meanwhile leaves a hole. */
static void nothing_is_said_over_a_time_when_nobody_looked(void **state)
{
	struct watch_series series = {};
	double slope;

	(void)state;
	fill(&series, 0, 20, MIB, MIB);
	fill(&series, 10000 * SECOND, 5, 500 * MIB, MIB);
	assert_false(watch_series_slope(&series, 60 * SECOND, &slope));
	assert_false(watch_series_slope(&series, 10 * SECOND, &slope));
	fill(&series, 10005 * SECOND, 10, 505 * MIB, MIB);
	assert_slope(&series, 10 * SECOND, MIB);
}

static void a_clock_that_stands_or_goes_back_adds_no_point(void **state)
{
	struct watch_series series = {};

	(void)state;
	watch_series_add(&series, 50 * SECOND, MIB);
	watch_series_add(&series, 50 * SECOND, 3 * MIB);
	watch_series_add(&series, 20 * SECOND, 2 * MIB);
	assert_int_equal(series.n, 1);
	assert_int_equal(watch_series_at(&series, 0).time_ns, 50 * SECOND);
	assert_int_equal(watch_series_at(&series, 0).bytes, 2 * MIB);
	assert_int_equal(watch_series_at(&series, 0).most_bytes, 3 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_kept_as_it_was),
		cmocka_unit_test(old_points_merge_and_recent_ones_do_not),
		cmocka_unit_test(a_peak_is_not_lost_when_its_point_is),
		cmocka_unit_test(a_slope_is_that_of_the_window),
		cmocka_unit_test(memory_that_is_given_back_has_a_negative_slope),
		cmocka_unit_test(a_sawtooth_does_not_grow),
		cmocka_unit_test(nothing_is_said_before_the_window_is_over),
		cmocka_unit_test(nothing_is_said_over_a_time_when_nobody_looked),
		cmocka_unit_test(a_clock_that_stands_or_goes_back_adds_no_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
