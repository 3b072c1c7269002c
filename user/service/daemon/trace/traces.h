/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces on demand: each is a session on a thread of its own (service/session/session_runner.h),
 * and a request of the same user for the same process, quantity and depth while one runs shares
 * it. A trace ends when no request waits for it any more; a user's also when this user may not
 * look at the process any more (target/process_access.h). Functions and callbacks belong to the
 * thread of the loop, but for those that say otherwise; callbacks come from loop_run_once() and
 * traces_run() alone.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_TRACES_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_TRACES_H

#include "base/cleanup.h"
#include "service/daemon/trace/trace_ask.h"
#include "target/process.h"

struct session_job;
struct traces;
struct trace_wait;

/* All of the options are borrowed. Nothing may be asked before traces_commit. 0 or -ENOMEM. */
int traces_new(const struct traces_opts *opts, struct traces **ret_traces);
/*
 * Ends all, and waits some seconds for their threads; nothing is answered: traces_finish() does
 * that. NULL is legal.
 */
void traces_free(struct traces *traces);
DEFINE_CLEANUP(struct traces, traces_free)

struct probe_cost;

/* What a call of an allocator costs that is traced, for the budget; before the first trace. */
void traces_set_cost(struct traces *traces, const struct probe_cost *cost);

/*
 * Another configuration, for what is asked from its commit on (configure.h). What it names in
 * [post_mortem] trace is traced as long as it has that. 0; or negative errno with one line in
 * *error: these processes cannot be traced; with the first configuration that is logged instead.
 */
struct traces_next;
int traces_prepare(struct traces *traces, const struct service_config *config,
		   struct traces_next **ret_next, struct strbuf *error);
/* Takes `next` over; cannot fail. */
void traces_commit(struct traces *traces, struct traces_next *next);
void traces_next_free(struct traces_next *next); /* NULL is legal */
DEFINE_CLEANUP(struct traces_next, traces_next_free)

/*
 * Begins to trace, or joins a trace that runs. 0: the wait is gone after ask->done(). -EBUSY: there
 * are as many traces as may be, of all or of this user, or as many wait for it; -EDQUOT: the budget
 * is used up, traces_wait_ns() says for how long; -ESRCH, -ENOMEM. What is known only when the
 * session begins comes as TRACE_NOT_BEGUN: -EACCES (this user may not look at it), -ESRCH, -ENOENT
 * (no allocator), -EREMOTEIO (none in what could be read), -ENODATA (it shows no samples),
 * -EOPNOTSUPP (no 64-bit program), or another error (logged, but for -EACCES and -ENODATA).
 */
int traces_ask(struct traces *traces, const struct trace_ask *ask, struct trace_wait **ret_wait);
/* The answer is not wanted any more: ask->free() comes, done() does not. NULL is legal. */
void traces_forget(struct trace_wait *wait);

/* From now on traces run; those of the configuration are started. */
void traces_start(struct traces *traces);
/* False: one of the configuration's is about to begin. */
bool traces_are_settled(const struct traces *traces);
/* Waits some seconds, in rounds of the loop, until these have begun, or cannot. */
void traces_settle(struct traces *traces);
/* Answers all that wait, with what there is by now; runs the loop for some seconds at most. */
void traces_finish(struct traces *traces);

/* Until traces_run has something to do; -1: that is not known. */
int traces_timeout_ms(const struct traces *traces);
/* Answers what is due, and ends what no request waits for. */
void traces_run(struct traces *traces);

struct trace_info {
	uint64_t id; /* no other one's, ever */
	enum trace_kind kind;
	enum heap_depth depth; /* of TRACE_HEAP */
	pid_t pid;
	uint64_t start_ticks; /* of the process, as another one may have its pid by now */
	const char *comm;     /* or the names of a standing trace */
	bool is_standing;     /* of the configuration */
	uint64_t age_ns, left_ns;
	size_t n_waits;
	bool is_stopped; /* by the budget: what comes is not seen */
	/* Of TRACE_HEAP: shares of a CPU's time. */
	double used, predicted;
};

/* The trace at `index` of those that have begun, in order; false: there are no more. */
bool traces_at(const struct traces *traces, size_t index, struct trace_info *ret_info);
/* Is some kill being told of? */
bool traces_are_telling(const struct traces *traces);
/* A job for its session (session_runner_post()). 0; -ENOENT: no such trace runs, or it failed. */
int traces_post(struct traces *traces, uint64_t id, struct session_job *job);

struct traces_counts {
	uint64_t begun, refused; /* refused: the limit was reached */
	uint64_t pre_empted;	 /* ended early to make room for another one */
	/* Kills of which nothing was told, as there were too many at a time, or tracing failed. */
	uint64_t unreported;
};
struct traces_counts traces_count(const struct traces *traces);

#endif
