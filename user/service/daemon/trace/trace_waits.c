/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/trace_waits.h"

#include "base/clock.h"
#include "service/daemon/trace/trace_state.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/session/session.h"

#include <errno.h>
#include <stdlib.h>

/* On one trace: each is answered by a view of its own. */
#define MOST_WAITS 256

static void wait_free(struct trace_wait *wait)
{
	if (wait->ask.free)
		wait->ask.free(wait->ask.userdata);
	free(wait);
}

/* Takes it out of its trace's list. */
static void unlink_wait(struct trace_wait *wait)
{
	struct trace_wait **at = &wait->trace->waits;

	while (*at != wait)
		at = &(*at)->next;
	*at = wait->next;
	wait->trace->n_waits--;
}

void trace_wait_forget(struct trace_wait *wait)
{
	wait->is_forgotten = true;
	if (wait->is_shown)
		return; /* freed when that is done */
	unlink_wait(wait);
	wait_free(wait);
}

void trace_wait_finish(struct trace_wait *wait, enum trace_outcome outcome, int error)
{
	unlink_wait(wait);
	if (!wait->is_forgotten)
		wait->ask.done(outcome, error, wait->ask.userdata);
	wait_free(wait);
}

static void set_due(struct trace_wait *wait, uint64_t now_ns)
{
	wait->due_ns = now_ns + wait->for_ns;
}

void trace_waits_begin(struct trace *trace, uint64_t now_ns)
{
	for (struct trace_wait *wait = trace->waits; wait; wait = wait->next)
		set_due(wait, now_ns);
}

int trace_wait_add(struct trace *trace, const struct trace_ask *ask, uint64_t for_ns,
		   struct trace_wait **ret_wait)
{
	struct trace_wait *wait;

	if (trace->n_waits >= MOST_WAITS)
		return -EBUSY;
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return -ENOMEM;
	wait->trace = trace;
	wait->next = trace->waits;
	wait->ask = *ask;
	wait->for_ns = for_ns;
	if (trace->has_begun)
		set_due(wait, clock_monotonic_ns());
	trace->waits = wait;
	trace->n_waits++;
	*ret_wait = wait;
	return 0;
}

static bool is_due(const struct trace_wait *wait, uint64_t now_ns)
{
	const struct trace *trace = wait->trace;

	if (wait->is_shown || !trace->has_begun)
		return false;
	return trace->has_ended || trace->stopped || trace->traces->is_finishing ||
	       wait->due_ns <= now_ns;
}

uint64_t trace_waits_due_ns(const struct trace *trace)
{
	uint64_t now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX;

	/* Of those left out here, the session's thread wakes the loop. */
	for (const struct trace_wait *wait = trace->waits; wait; wait = wait->next) {
		if (!trace->has_begun || wait->is_shown)
			continue;
		if (!wait->is_told || is_due(wait, now_ns))
			return now_ns;
		if (wait->due_ns < first_ns)
			first_ns = wait->due_ns;
	}
	return first_ns;
}

/* --- answers --------------------------------------------------------------------------------- */

struct show_job {
	struct session_job job;
	struct trace_wait *wait;
	struct report_opts opts;
	struct report_budget budget; /* opts.budget, or unused */
	bool is_shown;
};

/* Session's thread, as run_show(). */
static int show_trace(const struct view *view, void *userdata)
{
	struct show_job *job = userdata;
	const struct trace_ask *ask = &job->wait->ask;
	int r = ask->show(view, ask->userdata);

	job->is_shown = r == 0;
	return r;
}

static int run_show(struct session *session, struct session_job *userdata)
{
	struct show_job *job = (struct show_job *)userdata;
	int r;

	if (job->opts.budget)
		session_set_untraced(session, job->budget.untraced_ns);
	r = session_show(session, &job->opts, show_trace, job);
	/* What was shown is right, even where the session has failed after it. */
	return job->is_shown ? 0 : r < 0 ? r : -EIO;
}

static void on_shown(struct session_job *userdata, int result)
{
	_cleanup_free_ struct show_job *job = (struct show_job *)userdata;

	job->wait->is_shown = false;
	trace_wait_finish(job->wait, result < 0 ? TRACE_FAILED : TRACE_SHOWN, result);
}

static void answer_wait(struct traces *traces, struct trace *trace, struct trace_wait *wait)
{
	struct show_job *job = trace->error ? NULL : calloc(1, sizeof(*job));

	trace_check_cost(traces, trace);
	if (!job) {
		trace_wait_finish(wait, TRACE_FAILED, trace->error ? trace->error : -ENOMEM);
		return;
	}
	job->job.run = run_show;
	job->job.done = on_shown;
	job->wait = wait;
	job->opts =
		(struct report_opts){ .width = 80, .allocated_first = wait->ask.allocated_first };
	if ((trace->kind == TRACE_HEAP && traces->call_ns > 0) || trace->pre_empted) {
		job->budget = trace_report_budget(traces, trace, wait);
		job->opts.budget = &job->budget;
	}
	wait->is_shown = true;
	session_runner_post(trace->runner, &job->job);
}

void trace_waits_answer(struct trace *trace)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct trace_wait *wait = trace->waits, *next; wait; wait = next) {
		next = wait->next;
		if (trace->has_begun && !wait->is_told) {
			wait->is_told = true;
			if (wait->ask.begun)
				wait->ask.begun(wait->ask.userdata);
		}
		if (is_due(wait, now_ns))
			answer_wait(trace->traces, trace, wait);
	}
}
