/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CPU with so many page faults a second is simulated, as perf and bpf/fault_sample.bpf.h count
 * them: what has not ticked when the period changes ticks at once.
 */
#include "trace/jobs/fault_clocks.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define START_NS (100 * SECOND_NS)
#define LOOK_NS (SECOND_NS / 10)
#define TICK_ERROR 0.02

struct run {
	const struct fault_period_opts *opts;
	struct fault_period period;
	uint64_t now_ns, faults, seen, ticks, weight;
	uint64_t next_tick, most_in_second, shifted;
};

static void run_init(struct run *run, const struct fault_period_opts *opts)
{
	*run = (struct run){ .opts = opts, .now_ns = START_NS };
	fault_period_init(&run->period, opts, START_NS);
	run->next_tick = run->period.period;
}

static void look(struct run *run)
{
	if (!fault_period_update(&run->period, run->opts, run->ticks, run->now_ns))
		return;
	/* PERF_EVENT_IOC_PERIOD: the next fault ticks, whoever makes it. */
	run->shifted += run->faults - run->seen;
	run->next_tick = run->faults + 1;
}

static void fault(struct run *run)
{
	if (++run->faults < run->next_tick)
		return;
	run->weight += run->faults - run->seen;
	run->seen = run->faults;
	run->next_tick = run->faults + run->period.period;
	if (++run->ticks % fault_period_ticks(run->opts) == 0)
		look(run);
}

static void run_seconds(struct run *run, unsigned int seconds, uint64_t faults_per_s)
{
	for (unsigned int i = 0; i < seconds; i++) {
		uint64_t ticks = run->ticks;

		for (uint64_t n = 0; n < faults_per_s; n++) {
			uint64_t before_ns = run->now_ns;

			run->now_ns = START_NS + (run->now_ns - START_NS) / SECOND_NS * SECOND_NS +
				      (n + 1) * (SECOND_NS - 1) / faults_per_s;
			if (before_ns / LOOK_NS != run->now_ns / LOOK_NS)
				look(run);
			fault(run);
		}
		run->now_ns = START_NS + ((run->now_ns - START_NS) / SECOND_NS + 1) * SECOND_NS;
		look(run);
		if (run->ticks - ticks > run->most_in_second)
			run->most_in_second = run->ticks - ticks;
	}
}

static void of_few_faults_each_ticks(void **state)
{
	struct run run;

	(void)state;
	run_init(&run, &fault_period_of_few);
	run_seconds(&run, 60, 100);
	run_seconds(&run, 10, 4000);
	assert_int_equal(run.period.period, 1);
	assert_int_equal(run.ticks, run.faults);
	assert_int_equal(run.weight, run.faults);
}

static void ticks_are_bounded_and_sums_right(void **state)
{
	static const struct fault_period_opts *const opts[] = { &fault_period_of_few,
								&fault_period_of_host };
	static const uint64_t rates[] = { 10000, 100000, 1000000 };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < sizeof(rates) / sizeof(rates[0]); j++) {
			struct run run;

			run_init(&run, opts[i]);
			run_seconds(&run, 10, rates[j]);
			/* Until it has seen how many come it may have as many more. */
			assert_true(run.most_in_second <= 2 * opts[i]->most_per_s);
			assert_true(run.faults - run.weight <= run.period.period);
			/* What may have ticked in another's: most of it when a host begins. */
			assert_true((double)run.shifted <= TICK_ERROR * (double)run.faults);
		}
}

static void after_a_burst_it_comes_down_by_halves(void **state)
{
	struct run run;

	(void)state;
	run_init(&run, &fault_period_of_few);
	run_seconds(&run, 2, 1000000);
	assert_in_range(run.period.period, 128, 256);
	run_seconds(&run, 3, 10);
	assert_in_range(run.period.period, 16, 32);
	run_seconds(&run, 10, 10);
	assert_int_equal(run.period.period, 1);
}

static void what_is_between_stays_as_it_is(void **state)
{
	struct run run;
	uint32_t period;

	(void)state;
	run_init(&run, &fault_period_of_few);
	run_seconds(&run, 5, 100000);
	period = run.period.period;
	run_seconds(&run, 20, 50000);
	assert_int_equal(run.period.period, period);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_few_faults_each_ticks),
		cmocka_unit_test(ticks_are_bounded_and_sums_right),
		cmocka_unit_test(after_a_burst_it_comes_down_by_halves),
		cmocka_unit_test(what_is_between_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
