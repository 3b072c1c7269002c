/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf's count of page faults on each CPU, and the period by which it ticks (bpf/abi_jobs.h).
 * event_job.c's alone; no threads.
 */
#ifndef MEMTRACED_TRACE_JOBS_FAULT_CLOCKS_H
#define MEMTRACED_TRACE_JOBS_FAULT_CLOCKS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The period by which a CPU's page faults tick, of --page-faults without N: it follows how many
 * come, so that ticks take little time and the few of a small process are all seen. A change makes
 * what has not ticked yet, half a period on average, tick at once, in whichever process faults
 * next: so it is raised only after so many ticks that this is nothing beside them. Plain data, a
 * pure function of what it is told.
 */
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
bool fault_period_update(struct fault_period *period, const struct fault_period_opts *opts,
			 uint64_t ticks, uint64_t now_ns);

struct bpf_map;
struct fault_clocks;

/* Before the load: how many ticks are worth a look (knob_fault_ticks), and room for the CPUs. */
uint32_t fault_clocks_ticks(const struct fault_period_opts *adapts);
int fault_clocks_set_room(struct bpf_map *map);

/*
 * Over the loaded map. `adapts`: borrowed for good; NULL: the period is `fixed`. 0 or negative
 * errno.
 */
int fault_clocks_new(const struct bpf_map *map, const struct fault_period_opts *adapts,
		     uint32_t fixed, struct fault_clocks **ret_clocks);
void fault_clocks_free(struct fault_clocks *clocks); /* NULL is legal */
DEFINE_CLEANUP(struct fault_clocks, fault_clocks_free)

/* As cpu_link_fn, with the program. */
int fault_clocks_link(struct fault_clocks *clocks, int prog_fd, int cpu);
/* Where periods adapt: sets what has to change. 0 or negative errno. */
int fault_clocks_update(struct fault_clocks *clocks);
/* The most that a sample stands for, or could have stood for, so far. */
uint64_t fault_clocks_interval(const struct fault_clocks *clocks);

#endif
