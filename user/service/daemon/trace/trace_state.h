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
#include "service/session/session_runner.h"
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
	uid_t uid; /* the user that it was begun for, */
	gid_t gid; /* and that alone sees it, but for root */
	bool is_rules;
	uint64_t asked_ns;
	struct process_info info;      /* of the process that was asked for */
	char *standing;		       /* patterns of the configuration; NULL: it was asked for */
	struct options *options;       /* until it is started */
	struct session_runner *runner; /* NULL: it is not started */
	bool has_begun;
	bool has_ended; /* the session has, or has failed */
	bool is_over;	/* the configuration does not name it any more */
	struct trace_wait *waits;
	size_t n_waits;
	size_t n_kills; /* that are being told */
	bool is_ending; /* its runner takes no job any more */
	uint64_t start_ns;
	struct budget_use use; /* of TRACE_HEAP */
	bool stopped;	       /* by the budget, or for another one: */
	bool pre_empted;
	struct session_job end_probes;
	int error; /* of the session */
};

struct traces {
	struct traces_opts opts;
	const struct service_config *config; /* a reference; NULL until traces_commit */
	VEC(struct trace *) list;
	size_t n_ending;   /* which are in no list any more, but whose threads still run */
	bool is_started;   /* traces_start() */
	bool is_finishing; /* whatever waits is due */
	uint64_t last_id;
	uint64_t begun, refused, pre_empted;
	_Atomic uint64_t unreported;
	struct budget budget;
	uint64_t call_ns;   /* that a call costs, */
	uint64_t sample_ns; /* and a sample, or its free */
	uint64_t next_look_ns;
	uint64_t stopped, refused_budget;
};

/*
 * A trace that is not started, without looking who may; there is room for it in the list, in which
 * it is not yet. `standing`: the names that the configuration has, or NULL. 0 or as traces_ask().
 */
int trace_new(struct traces *traces, const struct service_config *config,
	      const struct trace_ask *ask, const char *standing, struct trace **ret_trace);
/* Starts its thread: from then on it belongs to the list. 0 or negative errno. */
int trace_start(struct trace *trace);
/* Of one that was not started. */
void trace_free(struct trace *trace); /* NULL is legal */
DEFINE_CLEANUP(struct trace, trace_free)
/* Those of the configuration but this one: they have their kills told, and end in traces_run(). */
void traces_end_standing(struct traces *traces, const struct trace *but);
/* Is it one of the configuration's that goes on? */
bool trace_is_standing(const struct trace *trace);

#endif
