/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace and who waits for it, for the files beside: traces.c begins, answers and ends them,
 * traces_cost.c says which cost too much.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_STATE_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_STATE_H

#include "base/vec.h"
#include "service/daemon/trace/budget.h"
#include "service/daemon/trace/trace_ask.h"
#include "service/session.h"
#include "target/process.h"

struct trace_wait {
	struct trace *trace;
	struct trace_wait *next;
	uint64_t due_ns;
	bool allocated_first;
	trace_answer_fn fn;
	void *userdata;
};

struct trace {
	uint64_t id;
	enum trace_kind kind;
	enum heap_depth depth; /* of TRACE_HEAP */
	pid_t pid;
	uid_t uid; /* of who had it begin, */
	gid_t gid; /* and for whom alone it is, unless that is root */
	bool is_rules;
	struct process_info info; /* of the process that was asked for */
	char *standing;		  /* patterns of the configuration; NULL: it was asked for */
	struct options *options;
	struct session *session;
	struct loop_source *source; /* NULL: it is over */
	struct trace_wait *waits;
	size_t n_waits;
	bool is_over;	     /* the configuration names it no more */
	VEC(uint32_t) kills; /* images of which nobody was told yet */
	uint64_t *untold;
	traces_is_kill_fn is_kill;
	uint64_t start_ns;
	struct budget_use use; /* of TRACE_HEAP */
	bool stopped;	       /* by the budget, or for another one: */
	bool pre_empted;
	int error; /* of the session */
};

struct traces {
	struct traces_opts opts;
	const struct service_config *config;
	VEC(struct trace *) list;
	uint64_t last_id;
	uint64_t begun, refused, pre_empted, untold;
	struct budget budget;
	uint64_t call_ns;   /* that a call costs, */
	uint64_t sample_ns; /* and a sample, or its free */
	uint64_t next_look_ns;
	uint64_t stopped, refused_budget;
};

#endif
