/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cuts and samples: what processes hold now, as records. They read, and change nothing but what
 * they have counted.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_CUTS_H
#define MEMTRACED_TRACE_LIVE_LIVE_CUTS_H

#include "trace/live/live_state.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The records of one cut, of all processes or of those that have ended, which are settled then.
 * time_ns: when it began. After a drain, while the ring is emptied into memory.
 */
int live_read_cut(struct live *live, bool ended_only, uint64_t time_ns);
/* The records of a sample; after a drain. *ret_cpu_ns as live_sample's */
int live_read_sample(struct live *live, uint64_t *ret_cpu_ns);
/* With the block that is near, which is looked for in the tables. */
int live_on_fault(struct live *live, const struct abi_ev_fault *ev);

/* --- which block an address is in or near, by which a process is killed (live_on_fault) ------- */

/* Farther blocks have nothing to do with it. */
#define LIVE_FAULT_NEAR (1ULL << 20)

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
