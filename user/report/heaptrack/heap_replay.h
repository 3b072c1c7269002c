/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A course of allocations and frees with the sums of a process that we know: how often each site
 * allocated and how much, how many of these were temporary, what it held at samples, at the peak
 * and at the end. What happened in between is made up, evenly and as the means say. For writers of
 * formats that consist of such events (heaptrack.c).
 */
#ifndef MEMTRACED_REPORT_HEAPTRACK_HEAP_REPLAY_H
#define MEMTRACED_REPORT_HEAPTRACK_HEAP_REPLAY_H

#include "base/cleanup.h"
#include "report/heaptrack/heap_replay_stages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum replay_what {
	REPLAY_TIME,	  /* time goes on to time_ns; point of the timeline, or SIZE_MAX */
	REPLAY_TAKE,	  /* `count` blocks of `size` are allocated, and kept for a while */
	REPLAY_DROP,	  /* so many are freed */
	REPLAY_TEMPORARY, /* so many are allocated, and each is freed at once */
	/*
	 * The same, but each is freed after something else has been allocated or freed; of a single
	 * one that is another step's.
	 */
	REPLAY_PASSING,
};

struct replay_step {
	enum replay_what what;
	size_t site;
	uint64_t size, count;
	bool temporary; /* of REPLAY_DROP: the first of them is the block that was taken last */
	uint64_t time_ns;
	size_t point;
};

struct heap_replay;

/*
 * `end_ns` is the end where there is no timeline. The sites and the timeline are borrowed. 0 or
 * -ENOMEM.
 */
int heap_replay_new(const struct replay_site *sites, size_t n, const struct view_timeline *timeline,
		    uint64_t end_ns, struct heap_replay **ret_replay);
/* NULL is legal. */
void heap_replay_free(struct heap_replay *replay);
DEFINE_CLEANUP(struct heap_replay, heap_replay_free)

struct replay_faults heap_replay_faults(const struct heap_replay *replay);

/* Hands over the steps in order. 0, or what fn returned when not 0. */
typedef int (*replay_fn)(const struct replay_step *step, void *userdata);
int heap_replay_walk(const struct heap_replay *replay, replay_fn fn, void *userdata);

#endif
