/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the service knows of the host's memory: processes and cgroups with their series, at bounded
 * memory. Filled by watch.c in sweeps, read by the rules, /metrics and pages. Plain data without a
 * clock and without /proc; one thread.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_WATCH_WATCHED_H
#define MEMTRACED_SERVICE_DAEMON_WATCH_WATCHED_H

#include "analyze/watch_series.h"
#include "base/cleanup.h"
#include "target/cgroup_memory.h"
#include "target/process.h"

#include <stddef.h>

/* 660 bytes each; further ones are left out, and counted. */
#define WATCHED_PROCESSES 20000U
#define WATCHED_CGROUPS 4096U
/* Processes that ended last, which those who tell of ends ask for a moment later. */
#define WATCHED_GONE 256U

struct watched_process {
	pid_t pid;
	uint64_t start_ticks;
	char comm[16];
	uint64_t rss_bytes;
	uint64_t pss_bytes, pss_time_ns; /* both 0: not read */
	struct watch_series rss;
	uint64_t sweep;	  /* the last one that saw it */
	uint64_t gone_ns; /* when one no longer did; 0: it is there */
};

struct watched_cgroup {
	char *name; /* its path below the root, "/" of that itself */
	struct cgroup_memory memory;
	struct watch_series current;
	uint64_t sweep;
};

struct watched;

int watched_new(struct watched **ret_watched);
void watched_free(struct watched *watched); /* NULL is legal */
DEFINE_CLEANUP(struct watched, watched_free)

/*
 * A sweep: what is not added between its begin and its end is forgotten then. `now_ns` of
 * CLOCK_MONOTONIC. A pid that came again begins a series of its own. 0 or -ENOMEM.
 */
void watched_begin(struct watched *watched);
int watched_add_process(struct watched *watched, const struct process_info *info, uint64_t now_ns);
int watched_add_cgroup(struct watched *watched, const char *name,
		       const struct cgroup_memory *memory, uint64_t now_ns);
/* So many more were not even read. */
void watched_leave_out_cgroups(struct watched *watched, size_t n);
void watched_end(struct watched *watched);

/* Of a process that is watched; else nothing happens. */
void watched_set_pss(struct watched *watched, pid_t pid, uint64_t bytes, uint64_t now_ns);

/* NULL: it is not watched, or not yet. Valid, as all of the below, until the next sweep. */
const struct watched_process *watched_process(const struct watched *watched, pid_t pid);
const struct watched_cgroup *watched_cgroup(const struct watched *watched, const char *name);
/*
 * Who had this pid when it ended at that time, whether or not a sweep has seen the end, or who has
 * it now, UINT64_MAX. NULL: it was never watched, or WATCHED_GONE others have ended since.
 */
const struct watched_process *watched_process_until(const struct watched *watched, pid_t pid,
						    uint64_t end_ns);

/* In no particular order, from 0 on; NULL: there are no more. */
const struct watched_process *watched_process_at(const struct watched *watched, size_t index);
const struct watched_cgroup *watched_cgroup_at(const struct watched *watched, size_t index);

/* Those with most memory, at most `most`; for watched_choice_done. 0 or -ENOMEM. */
struct watched_choice {
	const struct watched_cgroup **cgroups;
	size_t n;
};

int watched_choose_cgroups(const struct watched *watched, size_t most,
			   struct watched_choice *ret_choice);
void watched_choice_done(struct watched_choice *choice);

struct watched_counts {
	size_t processes, cgroups;
	size_t processes_left_out, cgroups_left_out; /* each was one too many */
};

/* Of the last whole sweep. */
struct watched_counts watched_count(const struct watched *watched);

#endif
