/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Series of loads go in, changes of depth come out. A process is simulated: it has so many calls a
 * second of its own CPU time, of so many bytes, and is slowed down by what counts them.
 */
#include "service/session/governor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define CALL_NS 1300.0
#define TRAP_NS 390.0
#define SELDOM_NS 4000.0
#define SELDOM_TRAP_NS 1200.0 /* slower as the calls are */
#define FILL_NS 200e3	      /* between two hits: caches have nothing of them any more */
#define LOOK_NS 25e6
#define START_NS 1e11
#define INTERVAL (512 * 1024.0)
#define MOST_CHANGES 64

struct load {
	double seconds;
	double cpus;  /* of its own, where nothing counts */
	double calls; /* a second of its own CPU time */
	double bytes; /* of an allocation, which is every second call */
};

struct run {
	struct governor governor;
	struct governor_look look;
	struct record_depth_change changes[MOST_CHANGES];
	size_t n_changes;
	double at_ns, own_ns, spent_ns, calls, hits, exact_hits;
	double worst_ns; /* beyond the share of what was used until then */
	bool has_samples;
	double call_ns; /* what a call really takes */
	bool counts;	/* the kernel does, too */
};

static void run_init_after(struct run *run, double most, bool has_samples, uint64_t used_ns)
{
	static const struct probe_cost cost = { .call_ns = (uint64_t)CALL_NS,
						.trap_ns = (uint64_t)TRAP_NS,
						.seldom_call_ns = (uint64_t)SELDOM_NS };

	*run = (struct run){ .has_samples = has_samples, .at_ns = START_NS, .call_ns = CALL_NS };
	governor_init(&run->governor, most, &cost, (uint64_t)START_NS);
	(void)governor_begin(&run->governor, used_ns, has_samples);
}

/* A command that is started. */
static void run_init(struct run *run, double most, bool has_samples)
{
	run_init_after(run, most, has_samples, 0);
}

/* A process that has run for hours. */
static void run_init_old(struct run *run, double most, bool has_samples)
{
	run_init_after(run, most, has_samples, UINT64_C(3600000000000));
	assert_int_equal(run->governor.depth, RECORD_DEPTH_EXACT);
}

/* Of -p without --max-overhead: it begins with all calls, so many of them before the first look. */
static void run_init_limited(struct run *run, uint64_t calls)
{
	static const struct probe_cost cost = { .call_ns = (uint64_t)CALL_NS,
						.trap_ns = (uint64_t)TRAP_NS,
						.seldom_call_ns = (uint64_t)CALL_NS };

	run_init(run, 0.2, false);
	governor_begin_exact(&run->governor, &cost, calls);
}

static double sample_ns(const struct governor *governor, double hits_per_ns)
{
	double seldom = hits_per_ns * FILL_NS > 1 ? 1 / (hits_per_ns * FILL_NS) : 1;
	double trap_ns = TRAP_NS + seldom * (SELDOM_TRAP_NS - TRAP_NS);
	double all_ns = 1.5 * CALL_NS + seldom * (SELDOM_NS - 1.5 * CALL_NS);

	/* What the program has to get back into its caches takes as long. */
	return (1 + seldom) * (trap_ns + (all_ns - trap_ns) / (double)(1 << governor->doublings));
}

static double hit_ns(const struct run *run, double hits_per_ns)
{
	switch (run->governor.depth) {
	case RECORD_DEPTH_EXACT:
		return run->call_ns;
	case RECORD_DEPTH_SAMPLED:
		return sample_ns(&run->governor, hits_per_ns);
	case RECORD_DEPTH_GROWTH:
		return 0;
	}
	return 0;
}

/* Its CPUs are shared by itself and the probes. */
static void step(struct run *run, const struct load *load)
{
	enum record_depth depth = run->governor.depth;
	double per_call = depth == RECORD_DEPTH_EXACT ? 1 : load->bytes / 2 / INTERVAL * 2;
	double hits_per_ns = load->calls / 1e9 * (depth == RECORD_DEPTH_GROWTH ? 0 : per_call);
	double cpu_ns = load->cpus * LOOK_NS;
	double own_ns = cpu_ns / (1 + hits_per_ns * hit_ns(run, hits_per_ns));
	uint32_t doublings = run->governor.doublings;
	struct record_depth_change change;

	run->at_ns += LOOK_NS;
	run->own_ns += own_ns;
	run->spent_ns += cpu_ns - own_ns;
	run->calls += own_ns * load->calls / 1e9;
	run->hits += own_ns * hits_per_ns;
	if (run->spent_ns - run->governor.most * run->own_ns > run->worst_ns)
		run->worst_ns = run->spent_ns - run->governor.most * run->own_ns;
	run->look = (struct governor_look){ .now_ns = (uint64_t)run->at_ns,
					    .cpu_ns = (uint64_t)(run->own_ns + run->spent_ns),
					    .hits = (uint64_t)run->hits,
					    .sampled_calls = (uint64_t)run->calls,
					    .has_samples = run->has_samples };
	if (run->counts && depth == RECORD_DEPTH_EXACT)
		run->exact_hits += own_ns * hits_per_ns;
	run->look.runs = (uint64_t)run->exact_hits;
	run->look.runs_ns = (uint64_t)(run->exact_hits * (run->call_ns - TRAP_NS));
	if (!governor_look(&run->governor, &run->look, &change))
		return;
	assert_true(run->n_changes < MOST_CHANGES);
	assert_true(change.depth != depth || change.doublings != doublings);
	assert_true(change.depth == run->governor.depth);
	assert_true(change.doublings == run->governor.doublings);
	run->changes[run->n_changes++] = change;
}

static void run_load(struct run *run, const struct load *load)
{
	for (double ns = 0; ns < load->seconds * 1e9; ns += LOOK_NS)
		step(run, load);
}

static const struct load quiet = { 60, 1, 10000, 100 };
static const struct load busy = { 60, 1, 5e6, 100 };

static void a_quiet_process_stays_exact(void **state)
{
	const struct load asleep = { 60, 0.0001, 1e6, 100 };
	struct run run;

	(void)state;
	run_init_old(&run, 0.05, true);
	run_load(&run, &quiet);
	/* Of a process that sleeps nobody minds a tenth of a percent of a CPU. */
	run_load(&run, &asleep);
	assert_int_equal(run.n_changes, 0);
}

static void what_is_started_is_sampled_until_it_has_earned_more(void **state)
{
	const struct load asleep = { 60, 0.0001, 1000, 100 };
	struct run run;

	(void)state;
	run_init(&run, 0.05, true);
	assert_int_equal(run.governor.depth, RECORD_DEPTH_SAMPLED);
	run_load(&run, &quiet);
	assert_int_equal(run.n_changes, 1);
	assert_int_equal(run.changes[0].depth, RECORD_DEPTH_EXACT);
	assert_true(run.changes[0].time_ns >= START_NS + 2e9);
	assert_true(run.changes[0].time_ns < START_NS + 2.1e9);
	/* Two seconds of a thousandth of a share pay for no more. */
	run_init(&run, 0.001, true);
	run_load(&run, &quiet);
	assert_int_equal(run.n_changes, 0);
	/* A daemon that sleeps is seen all the same: a try takes of it what it does. */
	run_init(&run, 0.05, true);
	run_load(&run, &asleep);
	assert_int_equal(run.n_changes, 1);
}

/* With no more than a look's worth beyond the share at any time, however it begins. */
static void what_allocates_all_the_time_stays_sampled(void **state)
{
	struct run run;

	(void)state;
	run_init(&run, 0.05, true);
	run_load(&run, &busy);
	assert_int_equal(run.n_changes, 0);
	assert_true(run.worst_ns < 1e6);
	run_init_old(&run, 0.05, true);
	run_load(&run, &busy);
	assert_int_equal(run.n_changes, 1);
	assert_int_equal(run.changes[0].depth, RECORD_DEPTH_SAMPLED);
	assert_true(run.changes[0].time_ns < START_NS + 0.1e9);
	/* 87 % of a CPU: its own is less than the fifth that the share is of. */
	assert_true(run.changes[0].predicted_ppm > 4200000);
	assert_true(run.changes[0].predicted_ppm < 4400000);
	assert_true(run.worst_ns < GOVERNOR_TRY_NS);
	assert_true(run.spent_ns < 0.05 * run.own_ns);
}

/* Of -p: calls are taken for as long as they are, and nothing was earned. */
static void a_try_that_is_not_earned_is_over_when_it_is_spent(void **state)
{
	struct run run;

	(void)state;
	run_init_limited(&run, 0);
	run_load(&run, &quiet);
	assert_int_equal(run.n_changes, 0);
	run_init_limited(&run, 0);
	run_load(&run, &busy);
	assert_true(run.n_changes > 0);
	assert_int_equal(run.changes[0].depth, RECORD_DEPTH_GROWTH);
	assert_true(run.changes[0].time_ns < START_NS + 0.1e9);
	assert_true(run.worst_ns < 2 * GOVERNOR_TRY_NS);
	assert_true(run.spent_ns < 0.2 * run.own_ns);
}

/* What its probes take before the first look, while others are attached, is spent as well. */
static void calls_during_the_attach_are_spent(void **state)
{
	const struct load above = { 0.05, 1, 0.3e9 / CALL_NS, 100 };
	struct run run;

	(void)state;
	run_init_limited(&run, 0);
	run_load(&run, &above);
	assert_int_equal(run.n_changes, 0);
	run_init_limited(&run, (uint64_t)(1.5 * GOVERNOR_TRY_NS / CALL_NS));
	run_load(&run, &above);
	assert_int_equal(run.n_changes, 1);
	/* Where nothing is spent now, nothing is gained by it. */
	run_init_limited(&run, (uint64_t)(1.5 * GOVERNOR_TRY_NS / CALL_NS));
	run_load(&run, &quiet);
	assert_int_equal(run.n_changes, 0);
}

/* Of a limit of 20 %, whenever it begins, and however little it is. */
static void an_excess_is_left_within_two_seconds(void **state)
{
	static const double shares[] = { 0.202, 0.21, 0.22, 0.23, 0.25, 0.3, 0.5, 1, 4 };
	static const double before_s[] = { 0, 0.3, 1.7, 10.4, 60.9 };

	(void)state;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		for (size_t j = 0; j < sizeof(before_s) / sizeof(before_s[0]); j++) {
			const struct load calm = { before_s[j], 1, 0.1e9 / CALL_NS, 100 };
			const struct load above = { 2, 1, shares[i] * 1e9 / CALL_NS, 100 };
			struct run run;

			run_init_limited(&run, 0);
			run.counts = true;
			run_load(&run, &calm);
			assert_int_equal(run.n_changes, 0);
			run_load(&run, &above);
			assert_true(run.n_changes > 0);
			assert_int_equal(run.changes[0].depth, RECORD_DEPTH_GROWTH);
		}
}

static void what_stays_below_the_limit_is_not_left(void **state)
{
	const struct load below = { 300, 1, 0.19e9 / CALL_NS, 100 };
	struct run run;

	(void)state;
	run_init_limited(&run, 0);
	run.counts = true;
	run_load(&run, &below);
	assert_int_equal(run.n_changes, 0);
}

static void what_has_earned_no_try_does_not_begin_with_one(void **state)
{
	static const struct {
		uint64_t used_ns;
		bool has_samples;
		enum record_depth depth;
	} cases[] = {
		{ 0, true, RECORD_DEPTH_SAMPLED },
		{ 0, false, RECORD_DEPTH_GROWTH },
		{ GOVERNOR_TRY_NS * 20 - 20, true, RECORD_DEPTH_SAMPLED },
		{ GOVERNOR_TRY_NS * 20 - 20, false, RECORD_DEPTH_GROWTH },
		{ GOVERNOR_TRY_NS * 20 + 20, true, RECORD_DEPTH_EXACT },
		{ GOVERNOR_TRY_NS * 20 + 20, false, RECORD_DEPTH_EXACT },
	};
	struct run run;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run_init_after(&run, 0.05, cases[i].has_samples, cases[i].used_ns);
		assert_int_equal(run.governor.depth, cases[i].depth);
	}
}

static void without_samples_exact_depth_is_tried_when_it_is_paid(void **state)
{
	struct run run;

	(void)state;
	run_init(&run, 0.05, false);
	run_load(&run, &quiet);
	assert_int_equal(run.n_changes, 1);
	assert_int_equal(run.changes[0].depth, RECORD_DEPTH_EXACT);
	assert_true(run.changes[0].predicted_ppm == UINT64_MAX);
	run_init(&run, 0.05, false);
	run_load(&run, &busy);
	/* Tries become rare: a minute has no more of them than the powers of two in it. */
	assert_true(run.n_changes >= 2 && run.n_changes < 12);
	for (size_t i = 0; i + 1 < run.n_changes; i += 2) {
		assert_int_equal(run.changes[i].depth, RECORD_DEPTH_EXACT);
		assert_int_equal(run.changes[i + 1].depth, RECORD_DEPTH_GROWTH);
		assert_true(run.changes[i].predicted_ppm == UINT64_MAX);
	}
	assert_true(run.worst_ns < 1e6);
}

/* A launcher without samples starts a program that has some. */
static void samples_that_come_are_taken_at_once(void **state)
{
	const struct load start = { 0.5, 1, 5e6, 100 };
	struct run run;

	(void)state;
	run_init(&run, 0.05, false);
	run_load(&run, &start);
	assert_int_equal(run.n_changes, 0);
	run.has_samples = true;
	run_load(&run, &start);
	assert_int_equal(run.n_changes, 1);
	assert_int_equal(run.changes[0].depth, RECORD_DEPTH_SAMPLED);
	assert_true(run.changes[0].time_ns < START_NS + 0.6e9);
}

static void where_samples_are_too_many_growth_is_left(void **state)
{
	const struct load large = { 60, 1, 10e6, 4000 };
	struct run run;

	(void)state;
	run_init(&run, 0.01, true);
	run_load(&run, &large);
	/* Their traps alone are too many. */
	assert_int_equal(run.changes[0].depth, RECORD_DEPTH_SAMPLED);
	assert_int_equal(run.changes[0].doublings, GOVERNOR_MOST_DOUBLINGS);
	assert_int_equal(run.changes[1].depth, RECORD_DEPTH_GROWTH);
	for (size_t i = 2; i < run.n_changes; i++) {
		assert_true(run.changes[i].depth != RECORD_DEPTH_EXACT);
		assert_true(run.changes[i].depth == RECORD_DEPTH_GROWTH ||
			    run.changes[i].doublings == GOVERNOR_MOST_DOUBLINGS);
	}
	assert_true(run.spent_ns < 0.015 * run.own_ns);
}

/* 4,000 samples and frees a second: 3 %, and 1.5 if a quarter is kept. */
static void of_samples_that_take_too_much_fewer_are_kept(void **state)
{
	const struct load many = { 60, 1, 10e6, 200 }, few = { 60, 1, 10e5, 200 };
	struct run run;

	(void)state;
	run_init(&run, 0.02, true);
	run_load(&run, &many);
	assert_int_equal(run.n_changes, 1);
	assert_int_equal(run.changes[0].depth, RECORD_DEPTH_SAMPLED);
	assert_int_equal(run.changes[0].doublings, 2);
	assert_true(run.changes[0].time_ns < START_NS + 1e9);
	assert_true(run.spent_ns < 0.02 * run.own_ns);
	run_load(&run, &few);
	assert_int_equal(run.n_changes, 2);
	assert_int_equal(run.changes[1].depth, RECORD_DEPTH_SAMPLED);
	assert_int_equal(run.changes[1].doublings, 0);
	run_load(&run, &many);
	assert_int_equal(run.n_changes, 3);
	assert_int_equal(run.changes[2].doublings, 2);
	assert_true(run.spent_ns < 0.02 * run.own_ns);
}

/* Waves of samples: a change that was wrong makes the next wait longer. */
static void the_interval_does_not_flap(void **state)
{
	const struct load many = { 8, 1, 10e6, 200 }, few = { 8, 1, 10e5, 200 };
	struct run run;

	(void)state;
	run_init(&run, 0.02, true);
	for (int i = 0; i < 100; i++) {
		run_load(&run, &many);
		run_load(&run, &few);
	}
	assert_true(run.n_changes >= 3);
	assert_true(run.n_changes < 20);
	assert_true(run.spent_ns < 0.02 * run.own_ns);
}

static void it_goes_down_and_up_with_the_load(void **state)
{
	struct run run;

	(void)state;
	run_init_old(&run, 0.05, true);
	run_load(&run, &quiet);
	run_load(&run, &busy);
	run_load(&run, &quiet);
	run_load(&run, &busy);
	assert_int_equal(run.n_changes, 3);
	assert_int_equal(run.changes[0].depth, RECORD_DEPTH_SAMPLED);
	assert_int_equal(run.changes[1].depth, RECORD_DEPTH_EXACT);
	assert_true(run.changes[1].time_ns > START_NS + 120e9);
	assert_true(run.changes[1].time_ns < START_NS + 130e9);
	assert_int_equal(run.changes[2].depth, RECORD_DEPTH_SAMPLED);
}

/* 25 k calls/s: 3.3 %, less than is allowed and more than half of it. */
static void what_is_near_the_share_stays_as_it_is(void **state)
{
	const struct load near = { 300, 1, 25000, 100 };
	struct run run;

	(void)state;
	run_init_old(&run, 0.05, true);
	run_load(&run, &near);
	assert_int_equal(run.n_changes, 0);
	run_load(&run, &busy);
	run_load(&run, &near);
	assert_int_equal(run.n_changes, 1);
}

/* Waves of four seconds, a quarter of an hour long. */
static void it_does_not_flap(void **state)
{
	const struct load low = { 4, 1, 5000, 100 }, high = { 4, 1, 2e6, 100 };
	struct run run;

	(void)state;
	run_init_old(&run, 0.05, true);
	for (int i = 0; i < 112; i++) {
		run_load(&run, &high);
		run_load(&run, &low);
	}
	assert_true(run.n_changes >= 3);
	assert_true(run.n_changes < 12);
	assert_true(run.spent_ns < 0.05 * run.own_ns);
}

/* A burst of 5,000 calls, as a program makes them that starts. */
static void a_burst_changes_nothing(void **state)
{
	const struct load burst = { 0.025, 1, 200000, 100 }, calm = { 10, 0.5, 1000, 100 };
	struct run run;

	(void)state;
	run_init_old(&run, 0.05, true);
	for (int i = 0; i < 20; i++) {
		run_load(&run, &burst);
		run_load(&run, &calm);
	}
	assert_int_equal(run.n_changes, 0);
}

/*
 * One sample in two seconds stands for thousands of calls at once: a look in which it comes does
 * not speak for the others.
 */
static void rare_samples_do_not_keep_it_from_exact_depth(void **state)
{
	const double calls_each = 2 * INTERVAL / 100;
	struct record_depth_change change = { 0 };
	struct governor_look look = { .has_samples = true };
	struct run run;

	(void)state;
	run_init_old(&run, 0.05, true);
	run_load(&run, &busy);
	assert_int_equal(run.governor.depth, RECORD_DEPTH_SAMPLED);
	look = run.look;
	for (int i = 1; i < 100 && run.governor.depth == RECORD_DEPTH_SAMPLED; i++) {
		look.now_ns += 200000000;
		look.cpu_ns += 200000000;
		if (i % 10 == 0) {
			look.hits++;
			look.sampled_calls += (uint64_t)calls_each;
		}
		(void)governor_look(&run.governor, &look, &change);
	}
	assert_int_equal(change.depth, RECORD_DEPTH_EXACT);
	assert_true(change.calls_per_s < 10000);
}

static void shares_are_as_small_as_they_are_asked_for(void **state)
{
	static const double shares[] = { 0.001, 0.01, 0.02, 0.1, 0.5 };
	static const double calls[] = { 1e3, 1e4, 1e5, 1e6, 1e7 };

	(void)state;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		for (size_t j = 0; j < sizeof(calls) / sizeof(calls[0]); j++)
			for (int samples = 0; samples < 2; samples++) {
				const struct load load = { 120, 1, calls[j], 100 };
				struct run run;

				run_init(&run, shares[i], samples);
				run_load(&run, &load);
				assert_true(run.spent_ns <
					    shares[i] * run.own_ns + 2.0 * GOVERNOR_DEBT_NS);
				run_init_after(&run, shares[i], samples, UINT64_C(3600000000000));
				run_load(&run, &load);
				assert_true(run.spent_ns <
					    shares[i] * run.own_ns + 4.0 * GOVERNOR_DEBT_NS);
			}
}

/* 3,000 calls a second that take ten times what was calibrated. */
static void what_the_kernel_counts_comes_before_what_was_calibrated(void **state)
{
	struct record_depth_change change = { 0 };
	struct governor_look look = { .now_ns = (uint64_t)START_NS, .has_samples = true };
	struct run run;

	(void)state;
	run_init_old(&run, 0.01, true);
	for (int i = 0; i < 400 && change.depth == RECORD_DEPTH_EXACT; i++) {
		look.now_ns += 25000000;
		look.cpu_ns += 25000000;
		look.hits += 75;
		look.runs += 75;
		look.runs_ns += 75 * 13000;
		(void)governor_look(&run.governor, &look, &change);
	}
	assert_int_equal(change.depth, RECORD_DEPTH_SAMPLED);
}

/* 5,900 calls a second of a two-hundredth of a CPU; calibration was three times too high. */
static void what_is_nearly_idle_is_counted_when_that_takes_little(void **state)
{
	const struct load service = { 60, 0.005, 1180000, 100 };

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct run run;
		bool has_samples = i & 1, is_old = i & 2;

		run_init_after(&run, 0.05, has_samples, is_old ? UINT64_C(3600000000000) : 0);
		run.governor.cost.call_ns = 2000;
		run.call_ns = 600;
		run.counts = i & 4;
		run_load(&run, &service);
		assert_int_equal(run.governor.depth, RECORD_DEPTH_EXACT);
		assert_true(run.n_changes <= 1);
		/* Of the simulated CPU the process has as much as it had without probes. */
		assert_true(run.spent_ns < 0.05 * 0.2 * (run.at_ns - START_NS));
		if (!run.counts)
			continue;
		assert_in_range(governor_call_ns(&run.governor), 590, 610);
		assert_in_range(governor_measured_ppm(&run.governor), 1, 50000);
	}
}

/* What a try has measured is what the next is judged by: also where calibration was too low. */
static void what_was_measured_comes_before_what_was_calibrated(void **state)
{
	const struct load near = { 1, 1, 20000, 100 }, rest = { 120, 1, 20000, 100 };
	struct run run;

	(void)state;
	run_init(&run, 0.05, true);
	run.call_ns = 5000; /* 10 % */
	run.counts = true;
	run_load(&run, &near);
	run_load(&run, &rest);
	assert_int_equal(run.governor.depth, RECORD_DEPTH_SAMPLED);
	assert_true(run.n_changes >= 2);
	assert_int_equal(run.changes[1].depth, RECORD_DEPTH_SAMPLED);
	assert_in_range(run.changes[1].predicted_ppm, 90000, 110000);
	assert_true(run.spent_ns < 0.05 * run.own_ns);
}

/* A probe takes no more of the processes' time than they had. */
static void what_is_predicted_is_no_more_than_was_used(void **state)
{
	const struct load service = { 10, 0.005, 1180000, 100 };
	struct run run;

	(void)state;
	run_init_old(&run, 0.05, true);
	run.governor.cost.call_ns = 10000; /* where it could not be measured */
	run.governor.cost.trap_ns = 0;
	run.call_ns = 600;
	run_load(&run, &service);
	assert_int_equal(run.n_changes, 0);
	assert_true(governor_predicted_ppm(&run.governor) < 30000);
}

/* However busy it is the share holds, and is of what the processes use where that is more. */
static void nearly_idle_processes_have_the_share_of_a_fifth_of_a_cpu(void **state)
{
	static const double cpus[] = { 0.001, 0.01, 0.1, 0.2, 0.5, 1, 4 };
	static const double calls[] = { 1e4, 1e5, 1e6, 1e7 };

	(void)state;
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++)
		for (size_t j = 0; j < sizeof(calls) / sizeof(calls[0]); j++) {
			const struct load load = { 120, cpus[i], calls[j], 100 };
			double base = cpus[i] > 0.2 ? cpus[i] : 0.2;
			struct run run;

			run_init(&run, 0.05, true);
			run.counts = true;
			run_load(&run, &load);
			assert_true(run.spent_ns <
				    0.05 * base * 120e9 + GOVERNOR_TRY_NS * (base + 1));
		}
}

static void nothing_changes_without_a_share(void **state)
{
	struct run run;

	(void)state;
	run_init(&run, 0, true);
	run_load(&run, &busy);
	assert_int_equal(run.n_changes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_process_stays_exact),
		cmocka_unit_test(what_is_started_is_sampled_until_it_has_earned_more),
		cmocka_unit_test(what_allocates_all_the_time_stays_sampled),
		cmocka_unit_test(a_try_that_is_not_earned_is_over_when_it_is_spent),
		cmocka_unit_test(calls_during_the_attach_are_spent),
		cmocka_unit_test(an_excess_is_left_within_two_seconds),
		cmocka_unit_test(what_stays_below_the_limit_is_not_left),
		cmocka_unit_test(what_has_earned_no_try_does_not_begin_with_one),
		cmocka_unit_test(without_samples_exact_depth_is_tried_when_it_is_paid),
		cmocka_unit_test(samples_that_come_are_taken_at_once),
		cmocka_unit_test(where_samples_are_too_many_growth_is_left),
		cmocka_unit_test(of_samples_that_take_too_much_fewer_are_kept),
		cmocka_unit_test(the_interval_does_not_flap),
		cmocka_unit_test(it_goes_down_and_up_with_the_load),
		cmocka_unit_test(what_is_near_the_share_stays_as_it_is),
		cmocka_unit_test(it_does_not_flap),
		cmocka_unit_test(a_burst_changes_nothing),
		cmocka_unit_test(rare_samples_do_not_keep_it_from_exact_depth),
		cmocka_unit_test(shares_are_as_small_as_they_are_asked_for),
		cmocka_unit_test(what_the_kernel_counts_comes_before_what_was_calibrated),
		cmocka_unit_test(what_is_nearly_idle_is_counted_when_that_takes_little),
		cmocka_unit_test(what_was_measured_comes_before_what_was_calibrated),
		cmocka_unit_test(what_is_predicted_is_no_more_than_was_used),
		cmocka_unit_test(nearly_idle_processes_have_the_share_of_a_fifth_of_a_cpu),
		cmocka_unit_test(nothing_changes_without_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
