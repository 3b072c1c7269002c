/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What windows tell of all calls, and the words for it. */
#include "report/text/cost_words.h"
#include "service/session/cost_meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define HIT_NS 600
#define SECOND UINT64_C(1000000000)
#define NOT_KNOWN UINT64_MAX

static const struct cost_look start = { 100 * SECOND, 500, 40 * SECOND };

/* A window of so many calls, each of so many ns with its hits. */
static void add_window(struct cost_meter *meter, uint64_t until, uint64_t calls, uint64_t call_ns)
{
	/* As three hits of two calls. */
	const struct cost_window window = {
		.calls = calls,
		.until = until,
		.runs = { .runs = calls * 3 / 2, .ns = calls * call_ns - calls * 3 / 2 * HIT_NS },
	};

	cost_meter_add_window(meter, &window);
}

/* One of 20 ms, in which programs ran so often, 400 ns each time: with its hits so many us. */
static void add_timed_window(struct cost_meter *meter, uint64_t from_ns, uint64_t runs)
{
	const struct cost_window window = {
		.from_ns = from_ns,
		.to_ns = from_ns + SECOND / 50,
		.runs = { .runs = runs, .ns = runs * 400 },
	};

	cost_meter_add_window(meter, &window);
}

/* Of a host, where others pay as well: calls that are counted tell nothing of that. */
static void what_all_processes_pay_is_measured_by_time(void **state)
{
	struct cost_look now = { 104 * SECOND, 500, UINT64_MAX };
	struct cost_meter meter;
	struct record_cost cost;

	(void)state;
	cost_meter_init(&meter, HIT_NS, &start);
	cost_meter_measure_by_time(&meter);
	cost = cost_meter_read(&meter, &now);
	assert_int_equal(cost.predicted_ns, NOT_KNOWN);
	assert_int_equal(cost.measured_ns, NOT_KNOWN);
	/* A tenth of the first second, half of the next one and of what follows. */
	add_timed_window(&meter, 101 * SECOND - SECOND / 50, 2000);
	add_timed_window(&meter, 102 * SECOND - SECOND / 50, 10000);
	cost = cost_meter_read(&meter, &now);
	assert_int_equal(cost.calls, 0);
	assert_int_equal(cost.measured_ns, SECOND / 10 + SECOND / 2 + SECOND);
	assert_int_equal(cost.own_cpu_ns, NOT_KNOWN);
	assert_true(cost_is_known(&cost));
	/* Where nothing is counted there are no probes, and a window across that tells nothing. */
	cost_meter_set_counting(&meter, false, 104 * SECOND);
	add_timed_window(&meter, 105 * SECOND, 10000);
	now.now_ns = 110 * SECOND;
	assert_int_equal(cost_meter_read(&meter, &now).measured_ns, cost.measured_ns);
	cost_meter_set_counting(&meter, true, 106 * SECOND);
	add_timed_window(&meter, 106 * SECOND - SECOND / 100, 50000);
	assert_int_equal(cost_meter_read(&meter, &now).measured_ns, cost.measured_ns + 2 * SECOND);
}

static void what_a_window_tells_stands_for_the_calls_since_the_one_before(void **state)
{
	const struct cost_look now = { 104 * SECOND, 1000500, 44 * SECOND };
	struct cost_meter meter;
	struct record_cost cost;

	(void)state;
	cost_meter_init(&meter, HIT_NS, &start);
	cost = cost_meter_read(&meter, &now);
	assert_int_equal(cost.calls, 1000000);
	assert_int_equal(cost.span_ns, 4 * SECOND);
	assert_int_equal(cost.predicted_ns, UINT64_C(1200) * 1000000);
	assert_int_equal(cost.measured_ns, NOT_KNOWN);
	assert_int_equal(cost.own_cpu_ns, UINT64_C(2800000000));

	add_window(&meter, 10500, 1000, 5000);	/* 10,000 calls at the start, with new stacks */
	add_window(&meter, 500500, 1000, 1000); /* 490,000, and the 500,000 after it */
	cost = cost_meter_read(&meter, &now);
	assert_int_equal(cost.measured_ns, UINT64_C(50000000) + UINT64_C(990000000));
	assert_int_equal(cost.own_cpu_ns, 4 * SECOND - cost.measured_ns);
}

static void a_window_of_few_calls_waits_for_more(void **state)
{
	const struct cost_look now = { 104 * SECOND, 10500, 44 * SECOND };
	struct cost_meter meter;

	(void)state;
	cost_meter_init(&meter, HIT_NS, &start);
	add_window(&meter, 600, 100, 9000);
	assert_int_equal(cost_meter_read(&meter, &now).measured_ns, NOT_KNOWN);
	add_window(&meter, 1500, 100, 1000);
	assert_int_equal(cost_meter_read(&meter, &now).measured_ns, 5000 * UINT64_C(10000));
}

static void more_than_the_processes_used_is_not_claimed(void **state)
{
	const struct cost_look now = { 104 * SECOND, 1000500, 41 * SECOND };
	struct cost_meter meter;
	struct record_cost cost;

	(void)state;
	cost_meter_init(&meter, HIT_NS, &start);
	add_window(&meter, 10500, 1000, 2000);
	cost = cost_meter_read(&meter, &now);
	assert_int_equal(cost.measured_ns, SECOND);
	assert_int_equal(cost.own_cpu_ns, 0);
}

static void time_in_which_nothing_is_counted_is_known(void **state)
{
	const struct cost_look now = { 110 * SECOND, 1000500, 50 * SECOND };
	struct cost_meter meter;

	(void)state;
	cost_meter_init(&meter, HIT_NS, &start);
	assert_int_equal(cost_meter_read(&meter, &now).uncounted_ns, 0);
	cost_meter_set_counting(&meter, false, 101 * SECOND);
	cost_meter_set_counting(&meter, false, 102 * SECOND);
	assert_int_equal(cost_meter_read(&meter, &now).uncounted_ns, 9 * SECOND);
	cost_meter_set_counting(&meter, true, 105 * SECOND);
	cost_meter_set_counting(&meter, true, 106 * SECOND);
	assert_int_equal(cost_meter_read(&meter, &now).uncounted_ns, 4 * SECOND);
	cost_meter_set_counting(&meter, false, 109 * SECOND);
	assert_int_equal(cost_meter_read(&meter, &now).uncounted_ns, 5 * SECOND);
	assert_int_equal(cost_meter_read(&meter, &now).span_ns, 10 * SECOND);
}

static void nothing_is_said_of_what_is_not_known(void **state)
{
	const struct cost_look now = { 104 * SECOND, 1000500, UINT64_MAX };
	struct cost_meter meter;
	struct record_cost cost;

	(void)state;
	cost_meter_init(&meter, 0, &start);
	add_window(&meter, 10500, 1000, 2000);
	cost = cost_meter_read(&meter, &now);
	assert_int_equal(cost.predicted_ns, NOT_KNOWN);
	assert_int_equal(cost.measured_ns, NOT_KNOWN);
	assert_int_equal(cost.own_cpu_ns, NOT_KNOWN);
	assert_false(cost_is_known(&cost));
	assert_false(cost_is_high(&cost));
}

#define MS UINT64_C(1000000)

static void words_have_rate_share_and_prediction(void **state)
{
	static const struct {
		struct record_cost cost;
		const char *words;
		bool is_high;
	} cases[] = {
		{ { 400, 4 * SECOND, 1, NOT_KNOWN, 1 * MS, 0, 0 }, "100 calls/s", false },
		{ { 40000, 4 * SECOND, 60 * MS, 50 * MS, 2 * SECOND, 0, 0 },
		  "10.0 k calls/s; counting took ~2.5 % of the processes' own 2.0 s of CPU time "
		  "(predicted: ~3.0 %)",
		  false },
		{ { 4000000, 4 * SECOND, 900 * MS, NOT_KNOWN, 2 * SECOND, 0, 0 },
		  "1.0 M calls/s; counting took ~45 % of the processes' own 2.0 s of CPU time "
		  "(predicted, not measured)",
		  true },
		/* Of what is nearly idle, much is little. */
		{ { 4000, 4 * SECOND, 60 * MS, 60 * MS, 60 * MS, 0, 0 },
		  "1.0 k calls/s; counting took ~100 % of the processes' own 60 ms of CPU time "
		  "(predicted: ~100 %)",
		  false },
		{ { 4000000, 4 * SECOND, 4 * SECOND, 3900 * MS, 100 * MS, 0, 0 },
		  "1.0 M calls/s; counting took most of the processes' 4.0 s of CPU time",
		  true },
		{ { 4000000, 4 * SECOND, 3 * SECOND, 2 * SECOND, NOT_KNOWN, 0, 0 },
		  "1.0 M calls/s; counting took ~50 % of the time of one CPU (predicted: ~75 %)",
		  true },
		{ { 0, 4 * SECOND, NOT_KNOWN, 2 * SECOND, NOT_KNOWN, 0, 0 },
		  "0 calls/s; counting took ~50 % of the time of one CPU",
		  true },
		/* A rate is of the time in which calls were counted, a share of the whole. */
		{ { 400000, 4 * SECOND, 600 * MS, 500 * MS, 2 * SECOND, 3 * SECOND, 0 },
		  "400.0 k calls/s (counted for 1.0 s of 4.0 s); counting took ~25 % of the "
		  "processes' own 2.0 s of CPU time (predicted: ~30 %)",
		  true },
		{ { 400, 4 * SECOND, 1, NOT_KNOWN, 1 * MS, 4 * SECOND, 0 },
		  "0 calls/s (counted for 0 s of 4.0 s)",
		  false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf words = { 0 };

		cost_words(&cases[i].cost, &words);
		assert_string_equal(strbuf_str(&words), cases[i].words);
		assert_int_equal(cost_is_high(&cases[i].cost), cases[i].is_high);
	}
}

static void between_two_looks_what_one_does_not_know_is_not_known(void **state)
{
	const struct record_cost before = { 10, 100, 1000, NOT_KNOWN, 50, 20, 200000 },
				 now = { 25, 300, 4000, 8000, 90, 60, 200000 };
	struct record_cost cost = cost_since(&before, &now);

	(void)state;
	assert_int_equal(cost.calls, 15);
	assert_int_equal(cost.span_ns, 200);
	assert_int_equal(cost.predicted_ns, 3000);
	assert_int_equal(cost.measured_ns, NOT_KNOWN);
	assert_int_equal(cost.own_cpu_ns, 40);
	assert_int_equal(cost.uncounted_ns, 40);
	assert_int_equal(cost.limit_ppm, 200000);
}

/* Where a limit holds, no other one is advised. */
static void what_bounds_it_is_named(void **state)
{
	static const struct {
		uint64_t limit_ppm;
		const char *words;
	} cases[] = {
		{ 0, "; --max-overhead=5% bounds that" },
		{ 200000, "; the limit is 20 %" },
		{ 2500, "; the limit is 0.25 %" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct record_cost cost = { .limit_ppm = cases[i].limit_ppm };
		_cleanup_strbuf_ struct strbuf words = { 0 };

		cost_bound_words(&cost, &words);
		assert_string_equal(strbuf_str(&words), cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_window_tells_stands_for_the_calls_since_the_one_before),
		cmocka_unit_test(a_window_of_few_calls_waits_for_more),
		cmocka_unit_test(more_than_the_processes_used_is_not_claimed),
		cmocka_unit_test(what_all_processes_pay_is_measured_by_time),
		cmocka_unit_test(time_in_which_nothing_is_counted_is_known),
		cmocka_unit_test(nothing_is_said_of_what_is_not_known),
		cmocka_unit_test(words_have_rate_share_and_prediction),
		cmocka_unit_test(between_two_looks_what_one_does_not_know_is_not_known),
		cmocka_unit_test(what_bounds_it_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
