/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_estimate.h"

#include "model/image.h"
#include "trace/record/record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define INTERVAL 524288

static void margins_are_two_errors_of_as_many_samples(void **state)
{
	const struct view_sampled sampled = { .live_bytes = 100 * INTERVAL,
					      .live_blocks = 10000,
					      .blocks_variance = 10000,
					      .allocs = 500,
					      .bytes = 200 * INTERVAL };
	struct view_estimate estimate = view_estimate(INTERVAL, &sampled);

	(void)state;
	assert_int_equal(estimate.interval, INTERVAL);
	assert_int_equal(estimate.samples, 100);
	/* And two samples more, by the variance at the interval's ends. */
	assert_int_equal(estimate.ci95_bytes,
			 (uint64_t)ceil(1.96 * sqrt(100 + 1.96 * 1.96 / 2) * INTERVAL));
	assert_int_equal(estimate.ci95_blocks, 197);
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

static void blocks_that_are_chosen_for_certain_have_no_margin(void **state)
{
	struct view_sampled sampled = { .live_bytes = 100 << 20,
					.peak_bytes = 100 << 20,
					.bytes = 100 << 20,
					.live_blocks = 1,
					.allocs = 1,
					.samples = 1,
					.live_samples = 1,
					.is_site = true };
	struct view_estimate estimate = view_estimate(524288, &sampled);

	(void)state;
	assert_int_equal(estimate.ci95_bytes, 0);
	assert_int_equal(estimate.ci95_blocks, 0);
	assert_int_equal(estimate.ci95_allocated_bytes, 0);
	assert_int_equal(estimate.ci95_allocs, 0);
	assert_int_equal(estimate.ci95_peak_bytes, 0);
	assert_false(view_has_few_samples(&estimate));
	/* A process may have small blocks beside it, of which there is no sample. */
	sampled.is_site = false;
	estimate = view_estimate(524288, &sampled);
	assert_in_range(estimate.ci95_bytes, 2 * 524288, 3 * 524288);
	assert_true(view_has_few_samples(&estimate));
}

static void totals_are_estimated_as_sites_are(void **state)
{
	const struct record_totals totals = { .live_bytes = 4 * INTERVAL,
					      .blocks_variance = 100,
					      .sample_interval = INTERVAL };

	(void)state;
	assert_int_equal(view_estimate_totals(&totals).samples, 4);
	assert_int_equal(view_estimate_totals(&totals).ci95_bytes,
			 (uint64_t)ceil(1.96 * sqrt(4 + 1.96 * 1.96 / 2) * INTERVAL));
}

/* Twenty turns of what is live make 40 moments of it; what only grows has one. */
static void the_margin_of_a_peak_goes_by_how_often_all_was_replaced(void **state)
{
	struct view_sampled sampled = { .live_bytes = 100 * INTERVAL,
					.peak_bytes = 100 * INTERVAL,
					.bytes = 100 * INTERVAL };
	uint64_t grows = view_estimate(INTERVAL, &sampled).ci95_peak_bytes, turns;

	(void)state;
	assert_int_equal(grows, (uint64_t)ceil(1.96 * sqrt(100 + 1.96 * 1.96 / 2) * INTERVAL));
	sampled.bytes = 2100 * (uint64_t)INTERVAL;
	turns = view_estimate(INTERVAL, &sampled).ci95_peak_bytes;
	assert_in_range(turns, 38 * (uint64_t)INTERVAL, 42 * (uint64_t)INTERVAL);
	/* What was there when the process began has come, too. */
	sampled.bytes = 2000 * (uint64_t)INTERVAL;
	sampled.inherited_bytes = 100 * INTERVAL;
	assert_int_equal(view_estimate(INTERVAL, &sampled).ci95_peak_bytes, turns);
}

static void sums_over_the_run_have_margins_of_their_own(void **state)
{
	const struct view_sampled sampled = { .live_bytes = 4 * INTERVAL,
					      .allocs = 1000,
					      .bytes = 400 * (uint64_t)INTERVAL,
					      .allocs_variance = 2500,
					      .frees_variance = 900 };
	struct view_estimate estimate = view_estimate(INTERVAL, &sampled);

	(void)state;
	assert_int_equal(estimate.ci95_allocated_bytes,
			 (uint64_t)ceil(1.96 * sqrt(400 + 1.96 * 1.96 / 2) * INTERVAL));
	assert_int_equal(estimate.ci95_allocs, 99);
	assert_int_equal(estimate.ci95_frees, 59);
}

static void margins_add_up_by_squares_and_those_of_peaks_as_they_are(void **state)
{
	struct view_estimate to = { .interval = 10,
				    .samples = 1,
				    .ci95_bytes = 33,
				    .ci95_blocks = 5,
				    .ci95_peak_bytes = 50 };
	const struct view_estimate other = { .interval = 20,
					     .samples = 2,
					     .ci95_bytes = 44,
					     .ci95_blocks = 12,
					     .ci95_peak_bytes = 70 };
	const struct view_estimate none = { 0 };

	(void)state;
	view_estimate_add(&to, &other);
	view_estimate_add(&to, &none);
	assert_int_equal(to.interval, 20);
	assert_int_equal(to.samples, 3);
	assert_int_equal(to.ci95_bytes, 55);
	assert_int_equal(to.ci95_blocks, 13);
	assert_int_equal(to.ci95_peak_bytes, 120);
}

/* Of many places of which most have nothing live, the sum is as certain as that of the others. */
static void what_may_have_been_missed_is_no_part_of_a_sum(void **state)
{
	const struct view_estimate none = view_estimate_of_none(INTERVAL, 10, 1000);
	const struct view_sampled four = { .live_bytes = 4 * INTERVAL,
					   .peak_bytes = 4 * INTERVAL,
					   .bytes = 4 * INTERVAL,
					   .blocks_variance = 100,
					   .allocs_variance = 100 };
	const struct view_estimate some = view_estimate(INTERVAL, &four);
	struct view_estimate sum = { 0 };

	(void)state;
	view_estimate_add(&sum, &none);
	view_estimate_add(&sum, &none);
	assert_int_equal(sum.ci95_bytes, 3 * INTERVAL);
	assert_int_equal(sum.ci95_blocks, none.ci95_blocks);
	view_estimate_add(&sum, &some);
	view_estimate_add(&sum, &none);
	assert_int_equal(sum.ci95_bytes, some.ci95_bytes);
	assert_int_equal(sum.ci95_blocks, some.ci95_blocks);
	assert_int_equal(sum.ci95_allocated_bytes, some.ci95_allocated_bytes);
	assert_int_equal(sum.ci95_peak_bytes, some.ci95_peak_bytes);
	/* But a difference to nothing is off by what was missed. */
	view_estimate_subtract(&sum, &none);
	assert_int_equal(sum.ci95_bytes,
			 (uint64_t)ceil(hypot((double)some.ci95_bytes, 3 * INTERVAL)));
}

/* Seven children that hold their parent's samples are all off by as much, and to the same side. */
static void what_is_live_is_off_in_all_forked_children_alike(void **state)
{
	const struct view_sampled four = { .live_bytes = 4 * INTERVAL,
					   .bytes = 4 * INTERVAL,
					   .blocks_variance = 100,
					   .allocs_variance = 100 };
	const struct view_estimate one = view_estimate(INTERVAL, &four);
	const struct view_estimate none = view_estimate_of_none(INTERVAL, 10, 1000);
	const struct model_process parent = { 0 }, child = { .inherits = true };
	struct view_estimate sum = { 0 };

	(void)state;
	view_estimate_add_image(&sum, &one, &parent);
	for (int i = 0; i < 7; i++)
		view_estimate_add_image(&sum, &one, &child);
	view_estimate_add_image(&sum, &none, &child);
	assert_int_equal(sum.ci95_bytes, 8 * one.ci95_bytes);
	assert_int_equal(sum.ci95_blocks, 8 * one.ci95_blocks);
	assert_true(sum.ci95_allocated_bytes < 3 * one.ci95_allocated_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(margins_are_two_errors_of_as_many_samples),
		cmocka_unit_test(what_is_exact_has_no_margin),
		cmocka_unit_test(what_nobody_saw_may_be_three_samples),
		cmocka_unit_test(blocks_that_are_chosen_for_certain_have_no_margin),
		cmocka_unit_test(totals_are_estimated_as_sites_are),
		cmocka_unit_test(the_margin_of_a_peak_goes_by_how_often_all_was_replaced),
		cmocka_unit_test(sums_over_the_run_have_margins_of_their_own),
		cmocka_unit_test(margins_add_up_by_squares_and_those_of_peaks_as_they_are),
		cmocka_unit_test(what_may_have_been_missed_is_no_part_of_a_sum),
		cmocka_unit_test(what_is_live_is_off_in_all_forked_children_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
