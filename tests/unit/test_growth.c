/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/growth.h"
#include "tests/unit/growth_patterns.h"
#include "tests/unit/random_numbers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The thresholds of growth.c were chosen with seeds from 1 on. These were looked at afterwards. */
#define SEEDS 200U
#define FIRST_SEED 1000000U

struct confusion {
	size_t right, all;
	size_t counts[GROWTH_VERDICTS];
};

static struct confusion judge(size_t pattern, enum growth_verdict is, uint64_t first_seed, size_t n)
{
	struct confusion c = { 0 };

	for (uint64_t seed = first_seed; seed < first_seed + SEEDS; seed++) {
		struct growth_seen seen;
		struct growth growth;

		growth_pattern_run(pattern, seed, n, &seen);
		assert_true(growth_judge(&seen.input, &growth));
		assert_true(growth.confidence >= 0 && growth.confidence <= 1);
		c.counts[growth.verdict]++;
		c.right += growth.verdict == is;
		c.all++;
	}
	return c;
}

/* Prints who was taken for what; the share that was right. */
static double table(uint64_t first_seed, size_t n, double *ret_least)
{
	size_t n_patterns, right = 0, all = 0;
	const struct growth_pattern *patterns = growth_patterns(&n_patterns);

	*ret_least = 1;
	printf("%zu samples, %u programs each\n%-18s%8s%8s%8s%8s%8s\n", n, SEEDS, "", "steady",
	       "cache", "growing", "leak", "right");
	for (size_t i = 0; i < n_patterns; i++) {
		struct confusion c = judge(i, patterns[i].is, first_seed, n);
		double share = (double)c.right / (double)c.all;

		printf("%-18s%8zu%8zu%8zu%8zu%7.1f%%\n", patterns[i].name, c.counts[0], c.counts[1],
		       c.counts[2], c.counts[3], 100 * share);
		right += c.right;
		all += c.all;
		*ret_least = share < *ret_least ? share : *ret_least;
	}
	printf("%-50s%7.1f%%\n", "all", 100.0 * (double)right / (double)all);
	return (double)right / (double)all;
}

static void of_sixty_samples_95_percent_are_judged_right(void **state)
{
	double least;

	(void)state;
	assert_true(table(FIRST_SEED, 60, &least) >= 0.95);
	assert_true(least >= 0.9); /* of each pattern */
}

static void a_line_has_its_slope_whatever_few_points_say(void **state)
{
	double t[20], y[20];

	(void)state;
	for (int i = 0; i < 20; i++) {
		t[i] = i * 2;
		y[i] = 7 + 3 * t[i];
	}
	y[4] = 1e9;
	y[15] = -1e9;
	assert_true(trend_slope(t, y, 20) == 3);
	assert_true(trend_score(t, y, 20, 3) > 3);
	assert_true(trend_slope(t, y, 1) == 0);
	assert_true(trend_score(t, y, 3, 3) == 0);
}

/* Published: for 10 independent values in order Kendall's sum is 45, its variance 125. */
static void the_score_is_that_of_mann_and_kendall(void **state)
{
	const double t[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	const double up[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	const double flat[] = { 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 };

	(void)state;
	assert_true(fabs(trend_score(t, up, 10, 1) - 44 / sqrt(125)) < 1e-9);
	assert_true(trend_score(t, flat, 10, 0) == 0);
}

static void quantiles_are_those_of_the_sorted_values(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 300; seed++) {
		struct random_numbers r = random_from(seed);
		size_t n = 1 + random_below(&r, 100), k = random_below(&r, n);
		double v[100], found, below = 0, equal = 0;

		for (size_t i = 0; i < n; i++)
			v[i] = (double)random_below(&r, 50);
		found = trend_quantile(v, n, n > 1 ? (double)k / (double)(n - 1) : 0);
		for (size_t i = 0; i < n; i++) {
			below += v[i] < found;
			equal += v[i] == found;
		}
		assert_true(below <= (double)k && below + equal > (double)k);
	}
}

static void few_samples_have_no_verdict_and_flat_ones_are_steady(void **state)
{
	uint64_t times[GROWTH_LEAST];
	int64_t bytes[GROWTH_LEAST];
	struct growth_input input = { .times_ns = times, .live_bytes = bytes };
	struct growth growth;

	(void)state;
	for (size_t i = 0; i < GROWTH_LEAST; i++) {
		times[i] = (i + 1) * 1000000000;
		bytes[i] = 77;
	}
	for (input.n = 0; input.n < GROWTH_LEAST; input.n++)
		assert_false(growth_judge(&input, &growth));
	assert_true(growth_judge(&input, &growth));
	assert_string_equal(growth_verdict_name(growth.verdict), "steady");
	assert_true(growth.bytes_per_s == 0 && growth.confidence == 1);
	input.least_span_ns = times[GROWTH_LEAST - 1] - times[0];
	assert_true(growth_judge(&input, &growth));
	input.least_span_ns++;
	assert_false(growth_judge(&input, &growth));
}

/* Without births the age of the oldest block tells a leak from what only grows. */
static void where_births_are_not_known_the_oldest_block_speaks(void **state)
{
	uint64_t times[60];
	int64_t bytes[60];
	struct growth_input input = { .times_ns = times, .live_bytes = bytes, .n = 60 };
	struct growth growth;

	(void)state;
	for (size_t i = 0; i < 60; i++) {
		times[i] = (i + 1) * 1000000000;
		bytes[i] = (int64_t)i * 100;
	}
	input.oldest_ns = 59000000000;
	assert_true(growth_judge(&input, &growth));
	assert_int_equal(growth.verdict, GROWTH_LEAK);
	assert_true(fabs(growth.bytes_per_s - 100) < 1e-6);
	input.oldest_ns = 5000000000;
	assert_true(growth_judge(&input, &growth));
	assert_int_equal(growth.verdict, GROWTH_GROWING);
	input.oldest_ns = UINT64_MAX;
	assert_true(growth_judge(&input, &growth));
	assert_int_equal(growth.verdict, GROWTH_GROWING);
}

static void what_sinks_is_steady_and_keeps_its_trend(void **state)
{
	uint64_t times[60];
	int64_t bytes[60];
	struct growth_input input = { .times_ns = times, .live_bytes = bytes, .n = 60 };
	struct growth growth;

	(void)state;
	input.oldest_ns = 60000000000;
	for (size_t i = 0; i < 60; i++) {
		times[i] = (i + 1) * 1000000000;
		bytes[i] = 100000 - (int64_t)i * 1000;
	}
	assert_true(growth_judge(&input, &growth));
	assert_int_equal(growth.verdict, GROWTH_STEADY);
	assert_true(fabs(growth.bytes_per_s + 1000) < 1e-6);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_sixty_samples_95_percent_are_judged_right),
		cmocka_unit_test(a_line_has_its_slope_whatever_few_points_say),
		cmocka_unit_test(the_score_is_that_of_mann_and_kendall),
		cmocka_unit_test(quantiles_are_those_of_the_sorted_values),
		cmocka_unit_test(few_samples_have_no_verdict_and_flat_ones_are_steady),
		cmocka_unit_test(where_births_are_not_known_the_oldest_block_speaks),
		cmocka_unit_test(what_sinks_is_steady_and_keeps_its_trend),
	};
	double least;

	/* FIRST-SEED [SAMPLES]: the table of others, to choose thresholds with */
	if (argc > 1) {
		(void)table(strtoull(argv[1], NULL, 0), argc > 2 ? strtoull(argv[2], NULL, 0) : 60,
			    &least); /* it is printed */
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
