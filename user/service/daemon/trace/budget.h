/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What traces may cost ([trace] max_overhead): time in probes, as a share of one CPU's time for a
 * process, and of all CPUs' for the host. A share is over the time that was asked for: who uses it
 * up early is traced no longer, and not again before it is in balance. Plain data without a clock.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_BUDGET_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_BUDGET_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one trace. Times of CLOCK_MONOTONIC. */
struct budget_use {
	uint64_t start_ns, until_ns; /* asked for */
	uint64_t spent_ns;	     /* in probes, so far */
	uint64_t last_ns, last_spent_ns;
	double predicted; /* the share, if it goes on as between the last two looks */
};

/* What a trace has left behind: its process is not traced before `until_ns`. */
struct budget_debt {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t start_ns, until_ns, spent_ns;
	bool is_roots; /* root had it traced */
};

struct budget {
	double most; /* 0: no limit */
	unsigned int cpus;
	VEC(struct budget_debt) debts;
};

void budget_done(struct budget *budget);

void budget_begin(struct budget_use *use, uint64_t now_ns);
/* A look: so much was spent by now, and it is asked for until then. */
void budget_look(struct budget_use *use, uint64_t spent_ns, uint64_t until_ns, uint64_t now_ns);
/* Of the time that was asked for. */
double budget_used(const struct budget_use *use);
/* Has the trace used up what its process may be charged? */
bool budget_is_over(const struct budget *budget, const struct budget_use *use);

/*
 * The trace is over: if it took more than its share of the time it had, the process waits until
 * that is in balance. Without memory nothing is remembered: -ENOMEM.
 */
int budget_end(struct budget *budget, const struct budget_use *use, pid_t pid, uint64_t start_ticks,
	       bool is_roots, uint64_t now_ns);
/*
 * How long this process has to wait; 0: it may be traced. Forgets what is in balance. Users' traces
 * are no reason for root to wait: `of_root` counts root's alone.
 */
uint64_t budget_wait_ns(struct budget *budget, pid_t pid, uint64_t start_ticks, bool of_root,
			uint64_t now_ns);
/*
 * The share of all CPUs that debts take, to which that of running traces is to be added. `of_root`:
 * as above.
 */
double budget_owed(const struct budget *budget, bool of_root, uint64_t now_ns);

#endif
