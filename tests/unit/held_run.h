/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a target of hold_targets under target/launch and target/hold and notes the events. Every
 * wait is bounded: what hangs is a failed test.
 */
#ifndef MEMTRACED_TESTS_UNIT_HELD_RUN_H
#define MEMTRACED_TESTS_UNIT_HELD_RUN_H

#include "base/vec.h"
#include "target/hold/hold.h"
#include "target/launch/launch.h"

#include <stdbool.h>
#include <stddef.h>

struct held_run {
	struct launch *launch;
	struct hold *hold;
	pid_t pid;
	hold_fn fn; /* asked after the event was noted; NULL: answers 0 */
	void *userdata;
	enum hold_exits exits; /* hold_watch_exits */
	bool tell_threads;     /* hold_tell_threads */
	const char *run_as;    /* as of launch_opts */
	VEC(struct hold_event) events;
	size_t max_threads;
};

/* Starts, seizes and releases. 0 or negative errno. */
int held_run_start(struct held_run *run, const char *target, const char *arg);

/* Dispatches until the target and all that is held have ended, or for 20 s. 0, -ETIMEDOUT, or what
 * hold_dispatch returned. */
int held_run_finish(struct held_run *run);

/* Dispatches for so long. */
int held_run_dispatch(struct held_run *run, long ms);

/* Number of events of a type; of the target itself only, or of all others. */
size_t held_run_count(const struct held_run *run, enum hold_event_type type, bool of_target);

/* The target's wait status, -1 unless exactly one end was reported. */
int held_run_status(const struct held_run *run);

void held_run_done(struct held_run *run);

/* Waits for a child, for 20 s at most: its status, or -1. */
int wait_bounded(pid_t pid);

#endif
