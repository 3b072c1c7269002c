/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program on an event of perf's own, one for each CPU. The kernel takes a CPU's events from it
 * for good when it is switched off (perf_event_exit_cpu() in kernel/events/core.c), as all but the
 * first are while a machine sleeps, and one that is switched on has none: so they are made anew.
 * event_job.c's alone; no threads.
 */
#ifndef MEMTRACED_TRACE_JOBS_CPU_LINKS_H
#define MEMTRACED_TRACE_JOBS_CPU_LINKS_H

#include "base/cleanup.h"

#include <stdint.h>

struct cpu_links;

/* A descriptor that detaches when it is closed, or negative errno; -ENODEV: the CPU is off. */
typedef int (*cpu_link_fn)(int cpu, void *userdata);

/* One for each CPU that is on. `userdata` is borrowed for good. 0 or negative errno. */
int cpu_links_new(cpu_link_fn link, void *userdata, struct cpu_links **ret_links);
void cpu_links_free(struct cpu_links *links);
DEFINE_CLEANUP(struct cpu_links, cpu_links_free)

/*
 * To be called some times a second: makes all anew after a sleep, at once, and within a second when
 * other CPUs are on than were. A CPU that is off and on again in between is not noticed. 0 or
 * negative errno.
 */
int cpu_links_check(struct cpu_links *links);

/* How often they were made anew: until then some CPU had none. */
uint64_t cpu_links_gaps(const struct cpu_links *links);

#endif
