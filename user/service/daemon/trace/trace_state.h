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
#include "service/session_runner.h"
#include "target/process.h"

#include <stdatomic.h>

struct trace_wait {
	struct trace *trace;
	struct trace_wait *next;
	struct trace_ask ask;
	uint64_t for_ns, due_ns; /* due_ns: once the trace has begun */
	bool is_told;		 /* that the trace has begun */
	bool is_shown;		 /* a job shows it at the moment */
	bool is_forgotten;	 /* while that runs */
};

/* All of it is the owner's but for what on_record(), on the session's thread, reads: it stays. */
struct trace {
	struct traces *traces;
	uint64_t id;
	enum trace_kind kind;
	enum heap_depth depth; /* of TRACE_HEAP */
	pid_t pid;
	uid_t uid;		  /* of the user for whom it was begun */
	struct process_info info; /* of the process that was asked for */
	char *standing;		  /* patterns of the configuration; NULL: it was asked for */
	struct session_runner *runner;
	bool has_begun;
	bool has_ended; /* the session has, or has failed */
	bool is_over;	/* the configuration does not name it any more */
	struct trace_wait *waits;
	size_t n_waits;
	size_t n_kills; /* that are being told */
	uint64_t start_ns;
	struct budget_use use; /* of TRACE_HEAP */
	bool stopped;	       /* by the budget */
	struct session_job end_probes;
	int error; /* of the session */
};

struct traces {
	struct traces_opts opts;
	const struct service_config *config;
	VEC(struct trace *) list;
	size_t n_ending;   /* which are in no list any more, but whose threads still run */
	bool is_finishing; /* whatever waits is due */
	uint64_t last_id;
	uint64_t begun, refused;
	_Atomic uint64_t untold;
	struct budget budget;
	uint64_t call_ns;   /* that a call costs, */
	uint64_t sample_ns; /* and a sample, or its free */
	uint64_t next_look_ns;
	uint64_t stopped, refused_budget;
};

#endif
