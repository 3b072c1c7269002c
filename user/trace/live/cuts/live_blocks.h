/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live heap blocks of one process, one by one, for the leak check.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_BLOCKS_H
#define MEMTRACED_TRACE_LIVE_LIVE_BLOCKS_H

#include "trace/record/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct allocator_family;
struct live;
struct ranges;

struct live_block {
	uint64_t addr, size;
	uint64_t stack; /* its id, as in records */
	uint16_t fn;	/* the function's, as in records */
};

/* The process image that a pid stands for: -ESRCH: none that is traced and has not ended. */
int live_slot_of(const struct live *live, pid_t pid, uint32_t *ret_slot);
/* The image's number in records. */
image_t live_image_of(const struct live *live, uint32_t slot);
/* What is known of blocks that a process may have allocated before it was traced. */
enum live_older {
	LIVE_OLDER_NONE,    /* there are none: it was traced from its start */
	LIVE_OLDER_UNKNOWN, /* they were not looked for, or it has no glibc */
	LIVE_OLDER_PARTLY,
	LIVE_OLDER_READ, /* all of glibc's (trace/live/lifecycle/live_existing.h) */
};
enum live_older live_older_blocks(const struct live *live, uint32_t slot);
/*
 * What the process's allocators have mapped for themselves while it was traced, and still have: all
 * blocks in there are known. Valid until the next drain.
 */
const struct ranges *live_areas(const struct live *live, uint32_t slot);
/*
 * Of a process that keeps a book, the allocator behind our library, which its blocks are of; NULL:
 * not known, or it leaves no traces, as glibc's.
 */
const struct allocator_family *live_family_behind(const struct live *live, uint32_t slot);
/* The function's allocator, or NULL: not known. behind: that of the block's process. */
const struct allocator_family *live_family_of(const struct live *live, uint16_t fn,
					      const struct allocator_family *behind);
/* The pids of all that is traced and has not ended; malloc'ed. 0 or -ENOMEM. */
int live_pids(const struct live *live, pid_t **ret_pids, size_t *ret_n);

/*
 * What a process holds now, that from its ancestors included, ascending by address, none twice;
 * malloc'ed. Of one that runs, blocks that change hands meanwhile may be missing. 0; -ETIME: not
 * done by the deadline (CLOCK_MONOTONIC; 0: there is none); or another negative errno.
 */
int live_blocks(const struct live *live, uint32_t slot, uint64_t deadline_ns,
		struct live_block **ret_blocks, size_t *ret_n);

#endif
