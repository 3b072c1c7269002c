/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/traces_cost.h"

#include "base/clock.h"
#include "base/log.h"
#include "service/daemon/trace/trace_state.h"
#include "service/session/session.h"

/* Costs are looked at so often; in between they may go over what is allowed. */
#define LOOK_NS UINT64_C(100000000)
#define PPM 1000000
/* So far ahead a share is spent: of a trace of days not that of days in its first hours. */
#define AHEAD_NS (UINT64_C(3600) * 1000000000)

/* What runs and what is owed, of all CPUs. `of_root`: without users' traces. */
static double host_share(const struct traces *traces, bool of_root)
{
	double sum = 0;

	vec_foreach(&traces->list, trace)
		if (!of_root || (*trace)->uid == 0)
			sum += budget_used(&(*trace)->use);
	return sum / traces->budget.cpus +
	       budget_owed(&traces->budget, of_root, clock_monotonic_ns());
}

uint64_t traces_wait_ns(struct traces *traces, const struct process_info *process, uid_t uid)
{
	return budget_wait_ns(&traces->budget, process->pid, process->start_ticks, uid == 0,
			      clock_monotonic_ns());
}

/* CPU profiles cost what their frequency says. */
bool traces_have_budget(struct traces *traces, enum trace_kind kind, uid_t uid,
			const struct process_info *process)
{
	if (kind != TRACE_HEAP || traces->budget.most <= 0)
		return true;
	return traces_wait_ns(traces, process, uid) == 0 &&
	       host_share(traces, uid == 0) <= traces->budget.most;
}

/* What the configuration names is traced whatever it costs. */
bool trace_is_charged(const struct trace *trace)
{
	return trace->kind == TRACE_HEAP && trace->has_begun && !trace->has_ended &&
	       !trace->stopped && !trace->standing;
}

uint64_t trace_last_due_ns(const struct trace *trace, uint64_t now_ns)
{
	for (const struct trace_wait *wait = trace->waits; wait; wait = wait->next)
		now_ns = wait->due_ns > now_ns ? wait->due_ns : now_ns;
	return now_ns;
}

void trace_check_cost(const struct traces *traces, struct trace *trace)
{
	uint64_t hit_ns = trace->depth == HEAP_SAMPLED ? traces->sample_ns : traces->call_ns;
	uint64_t now_ns = clock_monotonic_ns(), until_ns = trace_last_due_ns(trace, now_ns);

	if (until_ns > now_ns + AHEAD_NS)
		until_ns = now_ns + AHEAD_NS;
	if (trace_is_charged(trace))
		budget_look(&trace->use, session_runner_calls(trace->runner) * hit_ns, until_ns,
			    now_ns);
}

/* Session's thread. */
static int end_probes(struct session *session, struct session_job *job)
{
	(void)job;
	session_end_probes(session);
	return 0;
}

static void on_probes_ended(struct session_job *job, int result)
{
	(void)job; /* a part of the trace */
	(void)result;
}

void trace_stop(struct trace *trace)
{
	trace->stopped = true;
	if (trace->kind != TRACE_HEAP)
		return;
	trace->end_probes = (struct session_job){ .run = end_probes, .done = on_probes_ended };
	session_runner_post(trace->runner, &trace->end_probes);
}

/* A request that waits gets what there is by now. */
static void stop_over_budget(struct traces *traces, struct trace *trace, const char *whose)
{
	trace_stop(trace);
	traces->stopped++;
	log_info("process %d (%s): tracing ends early, budget of %s exhausted ([trace] "
		 "max_overhead): %.2f %% of a CPU over the time that was asked for, %.0f %% at "
		 "last",
		 (int)trace->pid, trace->info.comm, whose, budget_used(&trace->use) * 100,
		 trace->use.predicted * 100);
}

/* Users' first, then what costs more. */
static bool ends_before(const struct trace *a, const struct trace *b)
{
	if ((a->uid == 0) != (b->uid == 0))
		return a->uid != 0;
	return budget_used(&a->use) > budget_used(&b->use);
}

/* Who costs most makes room for the others. */
static void spare_host(struct traces *traces)
{
	struct trace *most = NULL;

	vec_foreach(&traces->list, trace)
		if (trace_is_charged(*trace) && (!most || ends_before(*trace, most)))
			most = *trace;
	if (most && traces->budget.most > 0 && host_share(traces, false) > traces->budget.most)
		stop_over_budget(traces, most, "all traces together");
}

void traces_check_costs(struct traces *traces)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < traces->next_look_ns)
		return;
	traces->next_look_ns = now_ns + LOOK_NS;
	vec_foreach(&traces->list, trace) {
		trace_check_cost(traces, *trace);
		if (trace_is_charged(*trace) && budget_is_over(&traces->budget, &(*trace)->use))
			stop_over_budget(traces, *trace, "its traces");
	}
	spare_host(traces);
}

static uint64_t ppm(double share)
{
	return (uint64_t)(share * PPM);
}

struct report_budget trace_report_budget(const struct traces *traces, const struct trace *trace,
					 const struct trace_wait *wait)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool is_short = trace->stopped && wait->due_ns > now_ns;

	return (struct report_budget){
		.max_ppm = ppm(traces->budget.most),
		.used_ppm = ppm(budget_used(&trace->use)),
		.predicted_ppm = ppm(trace->use.predicted),
		.untraced_ns = is_short ? wait->due_ns - now_ns : 0,
		.pre_empted = trace->pre_empted,
	};
}

struct traces_budget traces_budget(const struct traces *traces)
{
	return (struct traces_budget){
		.call_ns = traces->call_ns,
		.sample_ns = traces->sample_ns,
		.most = traces->budget.most,
		.host = host_share(traces, false),
		.stopped = traces->stopped,
		.refused = traces->refused_budget,
	};
}

bool traces_next_debt(const struct traces *traces, size_t *index, struct traces_debt *ret_debt)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (traces->budget.most <= 0)
		return false;
	while (*index < traces->budget.debts.len) {
		const struct budget_debt *debt = &traces->budget.debts.data[(*index)++];

		if (debt->until_ns <= now_ns)
			continue;
		*ret_debt = (struct traces_debt){ debt->pid, debt->until_ns - now_ns };
		return true;
	}
	return false;
}
