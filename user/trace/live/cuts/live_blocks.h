/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live heap blocks of one process, one by one, for the leak check; and of all processes, for
 * what looks at their memory as a whole.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_BLOCKS_H
#define MEMTRACED_TRACE_LIVE_LIVE_BLOCKS_H

#include "base/ranges.h"
#include "base/vec.h"
#include "trace/live/slots/slot.h"

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
int live_slot_of(const struct live *live, pid_t pid, slot_t *ret_slot);
/* The image's number in records. */
image_t live_image_of(const struct live *live, slot_t slot);
/* What is known of blocks that a process may have allocated before it was traced. */
enum live_older {
	LIVE_OLDER_NONE,    /* there are none: it was traced from its start */
	LIVE_OLDER_UNKNOWN, /* they were not looked for, or it has no glibc */
	LIVE_OLDER_PARTLY,
	LIVE_OLDER_READ, /* all of glibc's (trace/live/lifecycle/live_existing.h) */
};
enum live_older live_older_blocks(const struct live *live, slot_t slot);
/*
 * What the process's allocators have mapped for themselves while it was traced, and still have: all
 * blocks in there are known. Valid until the next drain.
 */
const struct ranges *live_areas(const struct live *live, slot_t slot);
/*
 * Of a process that keeps a book, the allocator behind our library, which its blocks are of; NULL:
 * not known, or it leaves no traces, as glibc's.
 */
const struct allocator_family *live_family_behind(const struct live *live, slot_t slot);
/* The function's allocator, or NULL: not known. behind: that of the block's process. */
const struct allocator_family *live_family_of(const struct live *live, uint16_t fn,
					      const struct allocator_family *behind);
/* The pids of all that is traced and has not ended; malloc'ed. 0 or -ENOMEM. */
int live_pids(const struct live *live, pid_t **ret_pids, size_t *ret_n);

/*
 * What a process holds now, that from its ancestors included, ascending by address, none twice;
 * malloc'ed. Of one that runs, blocks that change hands meanwhile may be missing. 0; -ETIME: not
 * done by the deadline (CLOCK_MONOTONIC; 0: there is none); -EFBIG: there are more than are copied
 * (map_room.copies); or another negative errno.
 */
int live_blocks(struct live *live, slot_t slot, uint64_t deadline_ns,
		struct live_block **ret_blocks, size_t *ret_n);

/* A process that runs now, and the addresses of what its allocators hold. */
struct live_image {
	slot_t slot;
	image_t image;
	pid_t pid;
	bool from_start;	    /* none of its blocks is older than the attach */
	bool left_out;		    /* blocks: there was no room for copies of all */
	const struct ranges *areas; /* mapped by its allocators; valid until the next drain */
	VEC(struct range) blocks;   /* live ones, ascending */
};

/*
 * All that are reported and have not ended, or that of `pid` alone (0: all), with their blocks,
 * those from ancestors included; a block that changes hands meanwhile may be missing. 0 or negative
 * errno.
 */
int live_images_new(struct live *live, pid_t pid, struct live_image **ret_images, size_t *ret_n);
void live_images_free(struct live_image *images, size_t n);

#endif
