/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The period by which a CPU's page faults tick, of --page-faults without N: it follows how many
 * come, so that ticks take little time and the few of a small process are all seen. A change makes
 * what has not ticked yet, half a period on average, tick at once, in whichever process faults
 * next: so it is raised only after so many ticks that this is nothing beside them. Plain data, a
 * pure function of what it is told.
 */
#ifndef MEMTRACED_TRACE_JOBS_FAULT_PERIOD_H
#define MEMTRACED_TRACE_JOBS_FAULT_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

struct fault_period_opts {
	uint32_t first;	     /* the period at the beginning */
	uint32_t most_per_s; /* ticks of a CPU */
};

/* Of processes that are named, and of a host or cgroup: each that faults is made known there. */
extern const struct fault_period_opts fault_period_of_few, fault_period_of_host;

struct fault_period {
	uint32_t period;
	uint64_t ticks, since_ns; /* when it was judged last */
};

/* After so many ticks of a CPU it is worth to look before it is time. */
uint32_t fault_period_ticks(const struct fault_period_opts *opts);
void fault_period_init(struct fault_period *period, const struct fault_period_opts *opts,
		       uint64_t now_ns);
/* With all ticks so far. True: the period has changed. */
bool fault_period_look(struct fault_period *period, const struct fault_period_opts *opts,
		       uint64_t ticks, uint64_t now_ns);

#endif
