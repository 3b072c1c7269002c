/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces on demand: each is a session of its own. A user who asks for the same process, quantity
 * and depth while one of his runs shares it. A trace ends when nobody waits for it any more; a
 * user's also when the process becomes one that he may not look at. On the thread of the loop;
 * answers come from traces_run alone.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_TRACES_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_TRACES_H

#include "base/cleanup.h"
#include "service/daemon/trace/trace_ask.h"
#include "target/process.h"

struct traces;
struct trace_wait;

/* All of the options are borrowed. 0 or -ENOMEM. */
int traces_new(const struct traces_opts *opts, struct traces **ret_traces);
/* Ends all; nobody is answered: traces_finish. NULL is legal. */
void traces_free(struct traces *traces);
DEFINE_CLEANUP(struct traces, traces_free)

struct probe_cost;

/* What a call of an allocator costs that is traced, for the budget; before the first trace. */
void traces_set_cost(struct traces *traces, const struct probe_cost *cost);

/*
 * Another configuration, for what is asked from now on. What it names is traced as long as it
 * has that, and is tried again where that failed (logged).
 */
void traces_configure(struct traces *traces, const struct service_config *config);

/*
 * Begins to trace, or joins. The wait is gone with its answer. 0; -EBUSY: there are as many traces
 * as may be, of all or of this user, or as many wait for it; -EDQUOT: the budget is used up,
 * traces_wait_ns says for how long; -EACCES: this user may not look at it; -ESRCH, -ENOENT (no
 * allocator), -ENODATA (it shows no samples), -EOPNOTSUPP (no 64-bit program) or what beginning a
 * session gave (logged, but for -ENODATA and -EACCES).
 */
int traces_ask(struct traces *traces, const struct trace_ask *ask, struct trace_wait **ret_wait);
/* Whoever asked has gone. NULL is legal. */
void traces_forget(struct trace_wait *wait);

/* Answers all that wait, with what there is by now. */
void traces_finish(struct traces *traces);

/* Until traces_run has something to do; -1: that is not known. */
int traces_timeout_ms(const struct traces *traces);
/* Answers what is due, and ends what nobody waits for. */
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

/* The trace at `index`, in the order of their beginning; false: there are no more. */
bool traces_at(const struct traces *traces, size_t index, struct trace_info *ret_info);
/* Kills of which nothing was told, as there were too many at a time, or tracing failed. */
uint64_t traces_untold(const struct traces *traces);
/* What it has by now, as session_show; -ENOENT: there is no such trace, or it failed. */
int traces_show(struct traces *traces, uint64_t id, const struct report_opts *opts,
		int (*fn)(const struct view *view, void *userdata), void *userdata);
/* How many were begun, and how many refused as one too many. */
uint64_t traces_begun(const struct traces *traces);
uint64_t traces_refused(const struct traces *traces);
/* How many ended early to make room for another one. */
uint64_t traces_pre_empted(const struct traces *traces);

#endif
