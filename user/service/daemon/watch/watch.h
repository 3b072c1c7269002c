/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches the memory of all processes and cgroups by /proc and the cgroup file system, in sweeps at
 * an interval ([watch] of the configuration), for the rules, /metrics and pages (watched.h). On the
 * thread of the loop: a sweep is done in slices, and the interval grows where sweeps would take
 * more than a 200th of a CPU.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_WATCH_WATCH_H
#define MEMTRACED_SERVICE_DAEMON_WATCH_WATCH_H

#include "config/service_config.h"
#include "service/daemon/watch/watched.h"

struct watch;

/* Nothing else may be called before watch_configure. 0 or -ENOMEM. */
int watch_new(struct watch **ret_watch);
void watch_free(struct watch *watch); /* NULL is legal */
DEFINE_CLEANUP(struct watch, watch_free)

/* Another configuration, from the next sweep on; it holds a reference. */
void watch_configure(struct watch *watch, const struct service_config *config);

/* Until watch_run has something to do; -1: nothing is watched. */
int watch_timeout_ms(const struct watch *watch);
/* A slice. True: with it a sweep is over. */
bool watch_run(struct watch *watch);

const struct watched *watch_data(const struct watch *watch);

struct watch_info {
	uint64_t sweeps;
	uint64_t sweep_cpu_ns; /* of the last one */
	uint64_t interval_ns; /* as it is now, at least the configured one; 0: nothing is watched */
	uint64_t end_ns;      /* of the last one, CLOCK_MONOTONIC */
	const char *cgroup_root; /* NULL: there is none */
	int cgroup_version;	 /* 1 or 2 */
};

struct watch_info watch_info(const struct watch *watch);

#endif
