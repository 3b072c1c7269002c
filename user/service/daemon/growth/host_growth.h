/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growth depth, which stands: page faults of all of the host, one in so many with its stack, and
 * what is mapped, if that is wanted; no probes. A session on a thread of its own (growth_run.h), of
 * which what has ended is forgotten, and which is begun anew when it has become too large for all
 * that. On the thread of the loop, unless a comment says otherwise.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_GROWTH_HOST_GROWTH_H
#define MEMTRACED_SERVICE_DAEMON_GROWTH_HOST_GROWTH_H

#include "base/cleanup.h"
#include "config/service_config.h"
#include "report/view/view.h"
#include "service/daemon/growth/growth_run.h"

struct growth_wait;
struct host_growth;

/* The options are borrowed. Nothing is sampled before host_growth_start(). 0 or -ENOMEM. */
int host_growth_new(const struct host_growth_opts *opts, struct host_growth **ret_growth);
/* NULL is legal. */
void host_growth_free(struct host_growth *growth);
DEFINE_CLEANUP(struct host_growth, host_growth_free)

/*
 * Another configuration: ends, or begins with another period. Whether a session can begin is known
 * later: until then, and if it cannot, what samples by the old configuration goes on (logged).
 * Where nothing samples, a fault that may pass is tried again after a while.
 */
void host_growth_configure(struct host_growth *growth, const struct service_config *config);
/* From now on it samples, if that is configured. */
void host_growth_start(struct host_growth *growth);

/* To be called in each round of the loop, which may wait for the timeout (-1: any time). */
void host_growth_run(struct host_growth *growth);
int host_growth_timeout_ms(const struct host_growth *growth);

/* False: it is about to begin. */
bool host_growth_is_settled(const struct host_growth *growth);
/* Waits some seconds, in rounds of the loop, until it samples or cannot. */
void host_growth_settle(struct host_growth *growth);
/* Tells of the kills that are known, and waits some seconds for that, in rounds of the loop. */
void host_growth_finish(struct host_growth *growth);

struct growth_ask {
	enum growth_job job;
	pid_t pid; /* 0: all processes */
	/*
	 * Session's thread, after show(): may the user who asks see the process now? Then the view
	 * has the newest image of the process alone, and if the process has another one after that
	 * the error is -EACCES; or it is what fn says. NULL: root asks.
	 */
	int (*may_see)(void *userdata);
	/* As trace_ask's: on the session's thread, then on the owner's. */
	int (*show)(const struct view *view, void *userdata);
	/*
	 * 0; -ENODEV: nothing is sampled; -ENOENT: mappings are not wanted; -ESRCH: nothing is
	 * known of that process; -EACCES; or another negative errno. Not called after
	 * host_growth_forget().
	 */
	void (*done)(int error, void *userdata);
	void (*free)(void *userdata);
	void *userdata;
};

/* 0: the wait is gone after ask->done(). Or an error as done()'s; `ask` is copied. */
int host_growth_ask(struct host_growth *growth, const struct growth_ask *ask,
		    struct growth_wait **ret_wait);
/* The answer is not wanted any more: ask->free() comes, done() does not. NULL is legal. */
void host_growth_forget(struct growth_wait *wait);

/*
 * What the process that runs with this pid has mapped, as of the last answer or a second ago;
 * false: of it no mapping is known.
 */
struct region_totals;
bool host_growth_mapped(const struct host_growth *growth, pid_t pid,
			struct region_totals *ret_totals);

struct growth_snapshot;
struct host_growth_info {
	bool is_wanted, is_running, has_mappings;
	uint64_t period;
	uint64_t age_ns;   /* since when it has sampled */
	uint64_t begun;	   /* times, by which a session is told from the one before */
	uint64_t renewed;  /* times that it was begun anew since it was too large */
	uint64_t failed;   /* times that it ended or could not begin */
	uint64_t left_out; /* kills that were not told of */
	const struct growth_snapshot
		*snapshot; /* of the last answer or a second ago; NULL: none yet. Borrowed */
};

struct host_growth_info host_growth_info(const struct host_growth *growth);

#endif
