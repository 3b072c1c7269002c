/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of traces, and who is told what came of it (traces.h).
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_ASK_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_ASK_H

#include "base/loop.h"
#include "config/service_config.h"
#include "report/view/view.h"

enum trace_kind { TRACE_HEAP, TRACE_CPU };

/*
 * The cut that was waited for; NULL and a negative errno: tracing failed. Of a process that ended
 * meanwhile, what it had done until then.
 */
typedef void (*trace_answer_fn)(const struct view *view, int error, void *userdata);

struct trace_ask {
	enum trace_kind kind;
	enum heap_depth depth; /* of TRACE_CPU: HEAP_EXACT */
	pid_t pid;	       /* 0: the host, of TRACE_CPU alone */
	uid_t uid;	 /* who asks: each but root has a limit, and sees own processes alone */
	gid_t gid;	 /* as target/process_access.h wants it */
	bool is_rules;	 /* a rule asks, as root */
	uint64_t for_ns; /* 0: as long as is configured, or, if one runs, what it has by now */
	bool allocated_first; /* as report_opts' */
	trace_answer_fn fn;
	void *userdata;
};

/*
 * A traced process has ended: should traces_killed_fn be told of it? And it is, before anybody is
 * answered: of a view that has this process alone, and who asked for the trace.
 */
typedef bool (*traces_is_kill_fn)(const struct record_process_end *end);
typedef void (*traces_killed_fn)(const struct view *view, uid_t asked, void *userdata);
/* It is about to be gone: the last moment for traces_show. */
typedef void (*traces_ends_fn)(uint64_t trace, void *userdata);

struct login_users;
struct worker;

struct traces_opts {
	struct loop *loop;
	const struct service_config *config;
	struct worker *worker;	   /* the sessions' */
	struct login_users *users; /* limits count for them; NULL: for each uid */
	traces_is_kill_fn is_kill;
	traces_killed_fn killed;
	traces_ends_fn ends;
	void *userdata;
};

#endif
