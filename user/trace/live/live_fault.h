/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that is about to be killed for what it did itself: which of its blocks the address is
 * in or near, as records. Live source's thread.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_FAULT_H
#define MEMTRACED_TRACE_LIVE_LIVE_FAULT_H

#include "trace/record/record.h"

#include <sys/types.h>

struct fault;
struct live;

/* Farther blocks have nothing to do with it. */
#define LIVE_FAULT_NEAR (1ULL << 20)

/*
 * Hands fn the fault's stack and the fault, of a thread that stands still. 0; -ESRCH: the process
 * is not traced; another negative errno; or what fn returned.
 */
int live_report_fault(const struct live *live, pid_t pid, pid_t tid, const struct fault *fault,
		      record_fn fn, void *userdata);

/* A block and an address. */
struct near_block {
	uint64_t addr, size;
	bool freed;
};

/*
 * How far the address is from the block, 0 inside of it; UINT64_MAX: farther than LIVE_FAULT_NEAR.
 * Pure.
 */
uint64_t near_block_distance(const struct near_block *block, uint64_t addr);

/* Is block a to be named and not b? Of two that are as far the live one. Pure. */
bool near_block_is_better(const struct near_block *a, const struct near_block *b, uint64_t addr);

#endif
