/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which block an address is in or near, by which a process is killed (live_on_fault).
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_FAULT_H
#define MEMTRACED_TRACE_LIVE_LIVE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

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
