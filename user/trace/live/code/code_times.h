/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From when on a mapping of code holds that is only found when the list of a process is read, later
 * than it came: of changes it is told when each was, not what it was. What stood there before the
 * first of them did so until then, and what is read stands there from the last of them on. Of the
 * time between nothing can be proven: what came and went in it was never read.
 *
 *   told:    |first          |last              |first of the next reading
 *   ---------+---------------+---------read-----+------> time
 *   holds:   before | unknown | what was read, until then
 *
 * Pure. Of one process; by trace/live/stacks/live_waiting.c and live_changes.c.
 */
#ifndef MEMTRACED_TRACE_LIVE_CODE_TIMES_H
#define MEMTRACED_TRACE_LIVE_CODE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* Changes of which it was told; 0: none. */
struct code_changes {
	uint64_t first_ns, last_ns;
};

/* Zero-initialised: never read. */
struct code_times {
	uint64_t read_ns;	    /* when the last reading began */
	struct code_changes shown;  /* which it shows, but not the one before it, */
	struct code_changes coming; /* and which the next will show */
};

/* A change, of which it may be told after the reading that shows it. */
void code_times_changed(struct code_times *times, uint64_t time_ns);
/* The list is read now, after everything that is known of the reading before was used. */
void code_times_read(struct code_times *times, uint64_t now_ns);

/* Until when what the reading does not find any more is proven to have stood. */
uint64_t code_times_gone_ns(const struct code_times *times);
/*
 * From when on what the reading has found is proven to stand; all_told: it was told of each change
 * before it. asked_ns: where it was told of none, what it was read for had seen it by then.
 */
uint64_t code_times_came_ns(const struct code_times *times, bool all_told, uint64_t asked_ns);

#endif
