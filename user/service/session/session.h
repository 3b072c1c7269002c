/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run: targets, source, model and outputs wired together, from the command line's options to
 * the exit status. No globals: two sessions in one process do not know of each other, but for
 * signals, which belong to the process (SIGCHLD reaches the session whose loop blocked it first).
 */
#ifndef MEMTRACED_SERVICE_SESSION_SESSION_H
#define MEMTRACED_SERVICE_SESSION_SESSION_H

#include "base/cleanup.h"
#include "config/options.h"
#include "model/model.h"
#include "target/launch/launch.h"
#include "trace/record/record.h"

struct kept_books;
struct probe_cost;
struct run_stats;
struct session;
struct worker;

/*
 * Checks what can be checked early (rights, outputs, targets) and begins to trace. 0; -EINVAL:
 * usage; -ECHILD: the command was not found; -ENOEXEC: it cannot be executed; other negative errno:
 * cannot trace. What is wrong was logged. The arguments are borrowed;
 * the worker serves file_server's requests; cost: what a call takes, NULL without --max-overhead;
 * books: running_books(), taken over.
 */
int session_new(const struct options *options, const struct launch_inherited *inherited,
		struct worker *worker, const struct probe_cost *cost, struct kept_books *books,
		struct session **ret_session);
/*
 * The same for a service, which runs many: no signals, no terminal, no outputs but session_show.
 * Options with `quiet` and without a command. Unless it is NULL, fn is given each record after the
 * model has taken it; its error ends the run.
 */
int session_new_served(const struct options *options, struct worker *worker, record_fn fn,
		       void *userdata, struct session **ret_session);
/* Lets targets go, detaches. NULL is legal. */
void session_free(struct session *session);
DEFINE_CLEANUP(struct session, session_free)

/* Readable when session_step(session, 0) has something to do. Belongs to the session. */
int session_fd(const struct session *session);

/*
 * One round of the loop: waits up to timeout_ms (-1: until something happens). 0: goes on; 1: the
 * run is over; negative errno: it failed (logged).
 */
int session_step(struct session *session, int timeout_ms);

/*
 * Takes a cut and shows it to fn, which gives what is returned; also after session_step gave 1. Or
 * negative errno.
 */
struct report_opts;
struct view;
int session_show(struct session *session, const struct report_opts *opts,
		 int (*fn)(const struct view *view, void *userdata), void *userdata);

/*
 * The newest image of the process that runs with this pid, for report_opts: 0; -ESRCH: none is
 * known; or other negative errno.
 */
int session_find_image(struct session *session, pid_t pid, image_t *ret_image);

/* Is the process with this pid, now, still the one that has this image? */
bool session_is_current(const struct session *session, pid_t pid, image_t image);

/* What it keeps by now. */
struct model_size session_size(const struct session *session);
uint64_t session_regions_left_out(const struct session *session);
/* All processes that run and have mappings that are known: until fn gives other than 0: that. */
struct region_totals;
int session_each_mapped(const struct session *session,
			int (*fn)(pid_t pid, const struct region_totals *totals, void *userdata),
			void *userdata);
/* What was seen and lost by the latest cut; NULL before the first. */
const struct record_coverage *session_coverage(const struct session *session);
/* Takes a cut that is not shown: what has ended is forgotten. 0 or negative errno. */
int session_cut(struct session *session);

/* Calls of allocator functions so far, also those inside others: each has hit its probes. */
uint64_t session_calls(const struct session *session);
/* As live_run_stats. */
int session_run_stats(const struct session *session, struct run_stats *ret_stats);
/* As live_end_probes and live_set_untraced. */
void session_end_probes(struct session *session);
void session_set_untraced(struct session *session, uint64_t untraced_ns);

/* The final report. 0; -ECHILD, -ENOEXEC as session_new; or other negative errno (logged). */
int session_finish(struct session *session);

/*
 * The exit status after session_finish: with --error-exitcode its value if there were errors, or 2
 * in place of 0 if a leak check is missing; the child's under -c; else 0.
 */
int session_exit_status(const struct session *session);
/* The signal that has killed the child; 0: none has, or there is no child. */
int session_death_signal(const struct session *session);

#endif
