/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks in the kernel's tables and maps and in processes' books, one by one, in no order.
 */
#ifndef MEMTRACED_TRACE_LIVE_BLOCK_WALK_H
#define MEMTRACED_TRACE_LIVE_BLOCK_WALK_H

#include "bpf/abi.h"

#include <stdbool.h>
#include <stdint.h>

struct live;

#define BLOCK_LIVE UINT32_MAX

struct walked_block {
	__u64 key;
	const struct abi_block *block;
	/* BLOCK_LIVE, or the forks of its process before it freed it: children may hold it. */
	__u32 freed_era;
};

struct block_walk_opts {
	bool with_freed;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
	/* 0, or a negative errno, which ends the walk. */
	int (*fn)(const struct walked_block *walked, void *userdata);
	/* What was told of this process's own blocks is out of date, and is told again. */
	void (*forget)(uint32_t slot, void *userdata);
	void *userdata;
};

/*
 * A block that changes hands meanwhile may be left out, but none that a process forked before the
 * walk has of an ancestor: with_freed tells each of these exactly once. Takes 32 bytes of memory
 * for each live block that is older than a fork of its process, those of books up to
 * map_room.copies: what is left out is counted. 0; -ETIME: not done by the deadline; another
 * negative errno; or what fn returned.
 */
int block_walk(struct live *live, const struct block_walk_opts *opts);

#endif
