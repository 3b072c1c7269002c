/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses of the sampled blocks that live. All threads share the set without locks, so that
 * signal handlers, forks and threads that end leave nothing held. A free asks first with
 * sampled_set_may_have(): one load of a byte that counts the sampled blocks of some addresses.
 *
 * Frees of others in the page of a sampled block have a look-up, too. That reads 64 bytes of each
 * segment: there is one up to some 3,000 blocks, one more for each doubling, 12 at most. When a
 * block's place in all of them is taken, or without memory, sampled_set_add() says so.
 *
 * A block ends in two steps: sampled_set_end(), which succeeds once for each block, then, when its
 * end has been told, sampled_set_remove(). Between them its address is in the set, so that nobody
 * tells of a new block there before the end of the old one.
 */
#ifndef MEMTRACED_SAMPLE_SAMPLED_SET_H
#define MEMTRACED_SAMPLE_SAMPLED_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLED_FILTER_BITS 20
#define SAMPLED_BUCKET 8 /* slots: their addresses are a cache line */
#define SAMPLED_SEGMENTS 12

struct sampled_segment;

/*
 * A block in the set:
 *   63     48 47            3         0
 *   | number | address >> 3 | | ENDING |
 * The number is another one for each block, so that a block that came to the same address later is
 * not taken for it (but for each 65,536th).
 */
struct sampled_entry {
	uint64_t *slot;
	uint64_t word;
};

/* Zeroed: empty. Its pages are in memory as far as they were written to. */
struct sampled_set {
	uint8_t filter[1 << SAMPLED_FILTER_BITS];
	struct sampled_segment *segments[SAMPLED_SEGMENTS];
	uint64_t added; /* so many blocks */
};

/*
 * A page of memory has a byte, and its neighbours the next ones, so that what is read is a line for
 * 256 KiB of heap: a program whose own data fill the caches pays for each line of ours. Of a heap
 * of samples R bytes apart one page in R / 4096 has one.
 */
static inline size_t sampled_filter_index(const void *block)
{
	return ((uintptr_t)block >> 12) & ((1U << SAMPLED_FILTER_BITS) - 1);
}

/* False: the block is not in the set. True: it may be. */
static inline bool sampled_set_may_have(const struct sampled_set *set, const void *block)
{
	return __atomic_load_n(&set->filter[sampled_filter_index(block)], __ATOMIC_RELAXED) != 0;
}

/* Has sampled_set_may_have() say true of this address from now on. */
void sampled_set_mark(struct sampled_set *set, const void *block);

/* False: no room. The block must not be in the set. */
bool sampled_set_add(struct sampled_set *set, const void *block);

/* False: it is not there, as NULL never is. */
bool sampled_set_find(struct sampled_set *set, const void *block, struct sampled_entry *ret_entry);

/* False: another thread has told of the block's end, or is about to. */
bool sampled_set_end(const struct sampled_entry *entry);

/* After sampled_set_end(). */
void sampled_set_remove(struct sampled_set *set, const void *block,
			const struct sampled_entry *entry);

#endif
