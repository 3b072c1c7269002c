/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_estimate.h"

#include "trace/record/record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define INTERVAL 524288

static void margins_are_two_errors_of_as_many_samples(void **state)
{
	const struct view_sampled sampled = { .live_bytes = 100 * INTERVAL,
					      .blocks_variance = 10000,
					      .allocs = 500,
					      .bytes = 200 * INTERVAL };
	struct view_estimate estimate = view_estimate(INTERVAL, &sampled);

	(void)state;
	assert_int_equal(estimate.interval, INTERVAL);
	assert_int_equal(estimate.samples, 100);
	assert_int_equal(estimate.ci95_bytes, (uint64_t)ceil(1.96 * 10 * INTERVAL));
	assert_int_equal(estimate.ci95_blocks, 196);
}

static void what_is_exact_has_no_margin(void **state)
{
	const struct view_sampled sampled = { .live_bytes = 100, .allocs = 5, .bytes = 500 };
	struct view_estimate estimate = view_estimate(0, &sampled);

	(void)state;
	assert_int_equal(estimate.interval, 0);
	assert_int_equal(estimate.samples, 0);
	assert_int_equal(estimate.ci95_bytes, 0);
	assert_int_equal(estimate.ci95_blocks, 0);
}

static void what_nobody_saw_may_be_three_samples(void **state)
{
	const struct view_sampled none = { 0 };
	/* Blocks of 1024 bytes on average. */
	const struct view_sampled freed = { .allocs = 1024, .bytes = 2 * INTERVAL };
	const struct view_sampled below = { .live_bytes = -5 };

	(void)state;
	assert_int_equal(view_estimate(INTERVAL, &none).ci95_bytes, 3 * INTERVAL);
	assert_int_equal(view_estimate(INTERVAL, &none).ci95_blocks, 0);
	assert_int_equal(view_estimate(INTERVAL, &freed).ci95_blocks, 3 * 512);
	assert_int_equal(view_estimate(INTERVAL, &below).samples, 0);
}

static void totals_are_estimated_as_sites_are(void **state)
{
	const struct record_totals totals = { .live_bytes = 4 * INTERVAL,
					      .blocks_variance = 100,
					      .sample_interval = INTERVAL };

	(void)state;
	assert_int_equal(view_estimate_totals(&totals).samples, 4);
	assert_int_equal(view_estimate_totals(&totals).ci95_bytes,
			 (uint64_t)ceil(1.96 * 2 * INTERVAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(margins_are_two_errors_of_as_many_samples),
		cmocka_unit_test(what_is_exact_has_no_margin),
		cmocka_unit_test(what_nobody_saw_may_be_three_samples),
		cmocka_unit_test(totals_are_estimated_as_sites_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
