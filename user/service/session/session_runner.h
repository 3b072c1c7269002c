/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A served session (service/session/session.h) on a thread of its own. Whatever the session waits
 * for (the kernel, a file, the process that parses files), its owner's loop goes on. The two
 * threads share no state: the owner posts jobs, which run on the session's thread in the order of
 * posting, and whose results come back to the owner's loop. Functions belong to the owner's thread
 * unless their comment says "session's thread".
 */
#ifndef MEMTRACED_SERVICE_SESSION_SESSION_RUNNER_H
#define MEMTRACED_SERVICE_SESSION_SESSION_RUNNER_H

#include "base/loop.h"
#include "trace/record/record.h"

#include <stdint.h>

struct options;
struct session;
struct session_runner;
struct worker;

/* Embedded in what the job is about. */
struct session_job {
	/* Session's thread. NULL: nothing is to be done there. Its result is done()'s. */
	int (*run)(struct session *session, struct session_job *job);
	/*
	 * Owner's thread; frees the job. result: run()'s, or -ECANCELED if there is no session (it
	 * did not begin).
	 */
	void (*done)(struct session_job *job, int result);
	/* The runner's. */
	struct session_job *next;
	int result;
};

struct session_runner_opts {
	struct loop *loop;
	struct options *options; /* taken over if session_runner_new() succeeds */
	struct worker *worker;	 /* borrowed: the session gets one beside it */
	/* Session's thread, after the session has taken the record. NULL: not wanted. */
	void (*on_record)(struct session_runner *runner, const struct record *record,
			  void *userdata);
	/* Tracing has begun, or has failed to (negative errno, logged). Called once. */
	void (*begun)(int error, void *userdata);
	/* The session has ended by itself: 0, or negative errno (logged). It can still be shown. */
	void (*over)(int error, void *userdata);
	/*
	 * After session_runner_end(): all jobs are done, and the thread has let the session go. The
	 * runner is freed after this call, which is the last one.
	 */
	void (*gone)(void *userdata);
	void *userdata;
};

/* Starts the thread, which begins to trace. 0 or negative errno. */
int session_runner_new(const struct session_runner_opts *opts, struct session_runner **ret_runner);

/* The job's memory stays where it is until done(). */
void session_runner_post(struct session_runner *runner, struct session_job *job);

/* Ends the session after the jobs that were posted: gone() tells when. No job may follow. */
void session_runner_end(struct session_runner *runner);

/* Calls of allocator functions as of the session's last step (session_calls()). */
uint64_t session_runner_calls(const struct session_runner *runner);

/*
 * Session's thread, within run() or on_record(): has note->done() called on the owner's thread, in
 * order with the results of jobs. note->run is not called.
 */
void session_runner_note(struct session_runner *runner, struct session_job *note);

/*
 * Session's thread, within run(): calls fn on the owner's thread and waits for it. fn must be
 * short, as the owner waits for it, too.
 */
void session_runner_call(struct session_runner *runner, void (*fn)(void *arg), void *arg);

#endif
