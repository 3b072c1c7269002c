/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf's count of page faults on each CPU, and the period by which it ticks (bpf/abi_jobs.h,
 * trace/jobs/fault_period.h). event_job.c's alone; no threads.
 */
#ifndef MEMTRACED_TRACE_JOBS_FAULT_CLOCKS_H
#define MEMTRACED_TRACE_JOBS_FAULT_CLOCKS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_map;
struct fault_clocks;
struct fault_period_opts;

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
int fault_clocks_look(struct fault_clocks *clocks);
/* The most that a sample stands for, or could have stood for, so far. */
uint64_t fault_clocks_interval(const struct fault_clocks *clocks);

#endif
