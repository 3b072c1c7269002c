/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of traces, and who is told what came of it (traces.h).
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_ASK_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_ASK_H

#include "base/loop.h"
#include "config/service_config.h"
#include "report/view/view.h"
#include "service/daemon/reports/killed.h"

enum trace_kind { TRACE_HEAP, TRACE_CPU };

enum trace_outcome {
	TRACE_SHOWN,	 /* show() has had the view, and has succeeded */
	TRACE_NOT_BEGUN, /* as traces_ask() refuses, but known only later */
	TRACE_FAILED,	 /* the session, or show() */
};

struct trace_ask {
	enum trace_kind kind;
	enum heap_depth depth; /* of TRACE_CPU: HEAP_EXACT */
	pid_t pid;	       /* 0: the host, of TRACE_CPU alone */
	uid_t uid;     /* of the user who asks: all but root have a limit, and see own processes */
	gid_t gid;     /* as target/process_access.h wants it */
	bool is_rules; /* a rule asks, as root */
	uint64_t for_ns;      /* 0: as long as is configured, or, if one runs, what it has by now */
	bool allocated_first; /* as report_opts' */

	/* The trace runs: what is allocated from now on is counted. NULL: not wanted. */
	void (*begun)(void *userdata);
	/*
	 * The view that was waited for; of a process that has ended, what it had done until then.
	 * Session's thread (service/session/session_runner.h): may use `userdata` as far as nothing
	 * else does before done(). 0 or negative errno.
	 */
	int (*show)(const struct view *view, void *userdata);
	/* What came of it; error: 0, or negative errno. Not called after traces_forget(). */
	void (*done)(enum trace_outcome outcome, int error, void *userdata);
	/* `userdata` is not needed any more: after done(), or some time after traces_forget(). */
	void (*free)(void *userdata);
	void *userdata;
};

/*
 * Session's thread: does this end of a traced process need an explanation? Then traces_opts.killed
 * is asked for a job that gives it, before any wait of the trace is answered.
 */
typedef bool (*traces_is_kill_fn)(const struct record_process_end *end);
/* It is about to be gone: the last moment for traces_post(). */
typedef void (*traces_ends_fn)(uint64_t trace, void *userdata);

struct login_users;
struct worker;

struct traces_opts {
	struct loop *loop;
	struct worker *worker;	   /* the sessions' */
	struct login_users *users; /* limits count for them; NULL: for each uid */
	traces_is_kill_fn is_kill;
	killed_fn killed;
	traces_ends_fn ends;
	void *userdata;
};

#endif
