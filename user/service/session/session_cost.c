/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --max-overhead: what the governor is told of the processes, and what comes of its answers.
 */
#include "base/clock.h"
#include "base/log.h"
#include "config/units.h"
#include "service/session/session_state.h"
#include "target/cpu_time.h"
#include "trace/bpf/run_stats.h"

#include <errno.h>
#include <string.h>

/* Samples are seldom: the fewer looks, the better each tells of them. */
#define SAMPLED_LOOK_NS UINT64_C(200000000)

static struct governor_look look_now(struct session *s)
{
	struct governor_look look = {
		.now_ns = clock_monotonic_ns(),
		.cpu_ns = session_used_cpu_ns(s),
		.hits = live_events(s->live),
		.sampled_calls = live_sampled_calls(s->live),
		.has_samples = live_has_samples(s->live),
	};
	struct run_stats stats;

	if (s->options->overhead_exact_first) {
		look.runs_ns = session_metered_ns(s);
	} else if (live_run_stats(s->live, &stats) == 0) {
		look.runs = stats.runs;
		look.runs_ns = stats.ns;
	}
	return look;
}

/* What has just been started has used nothing yet. */
enum record_depth session_first_depth(struct session *s)
{
	uint64_t sum = 0, one;

	session_cpu_begin(s);
	if (s->options->overhead_exact_first)
		return RECORD_DEPTH_EXACT;
	for (size_t i = 0; i < s->options->n_pids; i++)
		if (cpu_time_of(s->options->pids[i], &one) == 0) /* else that it is gone is said */
			sum += one;
	return governor_begin(&s->governor, sum, s->is_sampled);
}

/* Nothing was calibrated: what a run without a limit would take longer to begin is not worth it. */
static void begin_exact(struct session *s)
{
	uint64_t hit_ns = s->features->emulated_ns ? s->features->emulated_ns : COST_ASSUMED_HIT_NS;
	const struct probe_cost cost = { .call_ns = COST_HITS_OF_A_CALL * hit_ns,
					 .trap_ns = hit_ns,
					 .seldom_call_ns = COST_HITS_OF_A_CALL * hit_ns };

	governor_begin_exact(&s->governor, &cost, live_events(s->live));
}

/* What processes used before has earned the first depth, and nothing else. */
int session_begin_costs(struct session *s)
{
	int r = session_meter_begin(s);

	if (s->options->overhead_exact_first)
		begin_exact(s);
	if (s->options->max_overhead)
		s->governor.last = look_now(s);
	return r;
}

static const char *const depth_names[] = {
	[RECORD_DEPTH_EXACT] = "all calls are counted",
	[RECORD_DEPTH_SAMPLED] = "samples are counted",
	[RECORD_DEPTH_GROWTH] = "only page faults are counted",
};

/* Of a limit without samples: said in its own words, once for each depth. */
static void log_limit(const struct options *options, const struct record_depth_change *change)
{
	char rate[FORMAT_UNIT_LEN];
	double most = (double)options->max_overhead / 100;

	if (change->depth == RECORD_DEPTH_EXACT)
		log_info("from now on all calls are counted, to see what that costs");
	else if (options_trace_widely(options))
		log_info("from now on only page faults are counted, not calls: that takes %.0f %% "
			 "of the CPU time that the host uses itself, and the limit is %g %%; "
			 "--max-overhead=none counts all calls",
			 (double)change->predicted_ppm / 10000, most);
	else
		log_info(
			"from now on only page faults are counted, not calls: all %s calls/s would "
			"take %.0f %% of the CPU time that the processes use themselves, and the "
			"limit is %g %%; --max-overhead=none counts them all",
			format_count((int64_t)change->calls_per_s, rate),
			(double)change->predicted_ppm / 10000, most);
}

static void log_change(const struct record_depth_change *change, bool is_interval)
{
	char rate[FORMAT_UNIT_LEN];

	if (is_interval && change->doublings == 0)
		log_info("--max-overhead: from now on all samples are kept");
	else if (is_interval)
		log_info("--max-overhead: from now on one sample in %u is kept, and stands for "
			 "the others",
			 1U << change->doublings);
	else if (change->predicted_ppm == UINT64_MAX)
		log_info("--max-overhead: from now on %s, to see what that costs",
			 depth_names[change->depth]);
	else
		log_info("--max-overhead: from now on %s: at %s calls/s all would take %.1f %% of "
			 "the CPU time (of a fifth of one CPU at least)",
			 depth_names[change->depth],
			 format_count((int64_t)change->calls_per_s, rate),
			 (double)change->predicted_ppm / 10000);
}

/* Where they were not asked for, they begin when calls are not counted any more. */
static int begin_faults(struct session *s)
{
	_cleanup_strbuf_ struct strbuf error = {};
	int r;

	if (s->counts_faults)
		return 0;
	s->counts_faults = true;
	for (size_t i = 0; i < s->options->n_events; i++)
		if (s->options->events[i].kind == EVENT_FAULTS)
			return 0;
	r = event_spec_page_faults(0, &s->faults);
	if (r == 0)
		r = live_begin_event(s->live, &s->faults, session_add_record, s, &error);
	if (r < 0 && r != -ENOMEM) {
		log_warning("page faults cannot be counted here: %s",
			    error.len ? strbuf_str(&error) : strerror(-r));
		return 0;
	}
	return r;
}

static int change_depth(struct session *s, const struct record_depth_change *change)
{
	const bool is_interval = change->depth == live_depth(s->live);
	int r;

	if (change->depth != RECORD_DEPTH_EXACT)
		session_meter_set_depth(s, change->depth);
	r = live_set_depth(s->live, change, session_add_record, s);
	if (change->depth == RECORD_DEPTH_EXACT)
		session_meter_set_depth(s, change->depth);
	if (r == 0 && s->options->overhead_exact_first)
		r = begin_faults(s);
	if (r < 0) {
		log_error("--max-overhead: cannot change what is counted: %s", strerror(-r));
		return r;
	}
	if (s->options->overhead_exact_first)
		log_limit(s->options, change);
	else
		log_change(change, is_interval);
	return 0;
}

int session_check_cost(void *userdata)
{
	struct session *s = userdata;
	bool is_sampled = s->governor.depth == RECORD_DEPTH_SAMPLED;
	struct record_depth_change change;
	struct governor_look look;

	if (is_sampled && clock_monotonic_ns() < s->governor.last.now_ns + SAMPLED_LOOK_NS)
		return 0;
	look = look_now(s);
	if (look.cpu_ns == 0 || !governor_look(&s->governor, &look, &change))
		return 0;
	return change_depth(s, &change);
}

int session_emit_cost(struct session *s)
{
	struct record record = { .type = RECORD_OVERHEAD };
	struct record_overhead *overhead = &record.overhead;
	struct governor_look look;
	int r;

	r = session_meter_emit(s);
	if (r < 0 || !s->options->max_overhead)
		return r;
	look = look_now(s);
	governor_count(&s->governor, &look);
	/* All was counted as if there were no limit. */
	if (s->options->overhead_exact_first && !s->counts_faults)
		return 0;
	overhead->max_ppm = s->options->max_overhead * 100;
	overhead->predicted_ppm = governor_predicted_ppm(&s->governor);
	overhead->measured_ppm = governor_measured_ppm(&s->governor);
	overhead->cpu_ns = governor_base_ns(&s->governor);
	overhead->call_ns = governor_call_ns(&s->governor);
	overhead->sample_ns = governor_sample_ns(&s->governor.cost);
	return session_add_record(&record, s);
}
