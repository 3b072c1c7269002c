/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What traces cost, and which end for it: budget.h applied to those that run.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_TRACES_COST_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_TRACES_COST_H

#include "service/daemon/trace/trace_ask.h"
#include "target/process.h"

struct trace;
struct trace_wait;
struct traces;

/* May that user have a trace of that process begin? Users' traces are no reason against root's. */
bool traces_have_budget(struct traces *traces, enum trace_kind kind, uid_t uid,
			const struct process_info *process);

/* Is it one that the budget may end? */
bool trace_is_charged(const struct trace *trace);

/* Ends its probes, and has all that wait answered with what there is by now. Once. */
void trace_stop(struct trace *trace);

/* When the last of those who wait is to have his answer; now_ns if that is over. */
uint64_t trace_last_due_ns(const struct trace *trace, uint64_t now_ns);

/* Takes in what it has cost by now. */
void trace_check_cost(const struct traces *traces, struct trace *trace);

/* The same of all, from time to time (next_look_ns); ends those that cost too much. */
void traces_check_costs(struct traces *traces);

/* For this wait's report. */
struct report_budget trace_report_budget(const struct traces *traces, const struct trace *trace,
					 const struct trace_wait *wait);

/*
 * For how long the process's earlier traces have used up what they may cost for this user; 0: they
 * have not.
 */
uint64_t traces_wait_ns(struct traces *traces, const struct process_info *process, uid_t uid);

struct traces_budget {
	uint64_t call_ns, sample_ns;
	double most;		   /* 0: no limit */
	double host;		   /* of all CPUs, by traces that run or have used up theirs */
	uint64_t stopped, refused; /* so many traces */
};

struct traces_budget traces_budget(const struct traces *traces);

/* A process that is not traced, for what earlier traces of it took, for so long from now on. */
struct traces_debt {
	pid_t pid;
	uint64_t wait_ns;
};

/* Moves *index on to the next; false: there are no more. */
bool traces_next_debt(const struct traces *traces, size_t *index, struct traces_debt *ret_debt);

#endif
