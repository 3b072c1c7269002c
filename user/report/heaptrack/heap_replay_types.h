/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a made-up course of a heap begins with, and what is wrong with it. Plain data, shared by the
 * parts of heap_replay.
 */
#ifndef MEMTRACED_REPORT_HEAPTRACK_HEAP_REPLAY_TYPES_H
#define MEMTRACED_REPORT_HEAPTRACK_HEAP_REPLAY_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct replay_site {
	uint64_t allocs, bytes, temporary;
	uint64_t peak_bytes, live_bytes, live_blocks;
	/* Live bytes at the points of the timeline but the last, known from `first` on; or NULL. */
	const int64_t *samples;
	size_t first;
};

/* What could not be made true, where events were lost or blocks are older than the trace. */
struct replay_faults {
	uint64_t extra_allocs; /* calls that nobody made: blocks that nobody allocated need them */
	uint64_t missing_temporary;
};

#endif
