/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How glibc's malloc lays memory out on 64-bit machines, versions 2.30 to 2.43 (malloc/malloc.c,
 * malloc/arena.c). Nothing of it is an interface: who reads by it checks what it reads.
 */
#ifndef MEMTRACED_TARGET_GLIBC_GLIBC_LAYOUT_H
#define MEMTRACED_TARGET_GLIBC_GLIBC_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define GLIBC_PAGE 4096ULL

/* HEAP_MAX_SIZE, 2 * DEFAULT_MMAP_THRESHOLD_MAX, to which heaps are aligned. */
#define GLIBC_HEAP_SIZE (64ULL << 20)
/* struct malloc_state begins right behind struct heap_info, which has been 32 to 64 bytes. */
#define GLIBC_ARENA_OFFSET_MAX 128

/* struct heap_info, as far as it is the same in all versions. */
struct glibc_heap_info {
	uint64_t arena, prev, size, mprotect_size;
};

/*
 * A chunk is headed by two words: the size of the one before it, if that is free, and its own, with
 * three flags. The program has what follows, and the first word of the next chunk.
 */
#define GLIBC_HEAD 16ULL
#define GLIBC_ALIGN 16ULL
#define GLIBC_MIN_CHUNK 32ULL
#define GLIBC_PREV_INUSE 1ULL
#define GLIBC_IS_MMAPPED 2ULL
#define GLIBC_NON_MAIN_ARENA 4ULL
#define GLIBC_FLAGS 7ULL

/* struct malloc_state, by words of 8 bytes; since 2.43 without have_fastchunks and fastbins. */
#define GLIBC_FASTBINS 10
#define GLIBC_BINS 127
enum {
	GLIBC_ARENA_MUTEX = 0, /* its low half; `flags` is the high one */
	GLIBC_ARENA_FASTBINS = 2,
	GLIBC_ARENA_TOP = GLIBC_ARENA_FASTBINS + GLIBC_FASTBINS,
	GLIBC_ARENA_BINS = GLIBC_ARENA_TOP + 2, /* fd and bk of each */
	GLIBC_ARENA_NEXT = GLIBC_ARENA_BINS + 2 * GLIBC_BINS + 2,
	GLIBC_ARENA_SYSTEM_MEM = GLIBC_ARENA_NEXT + 3,
	GLIBC_ARENA_WORDS = GLIBC_ARENA_NEXT + 5,
	GLIBC_ARENA_GONE = GLIBC_ARENA_TOP - 1,
};

/* struct malloc_par: sbrk_base, by words from there. Only its beginning differs by version. */
enum {
	GLIBC_PAR_MMAPPED_MEM = -2,
	GLIBC_PAR_MAX_MMAPPED_MEM = -1,
	GLIBC_PAR_SBRK_BASE = 0,
	GLIBC_PAR_TCACHE_BINS = 1,
	GLIBC_PAR_TCACHE_MAX_BYTES = 2,
	GLIBC_PAR_TCACHE_COUNT = 3,
};

/*
 * struct tcache_perthread_struct: 16-bit counts, then heads of lists (of what the program had, not
 * of chunks' heads). It is a chunk of its own. Since 2.42 there are lists of larger blocks behind
 * those of one size each, and counts say how many more blocks there is room for.
 */
#define GLIBC_TCACHE_BINS 64
#define GLIBC_TCACHE_BINS_MOST 76
#define GLIBC_TCACHE_BYTES(bins) ((bins) * (sizeof(uint16_t) + sizeof(uint64_t)))
/* What its chunk gives. */
#define GLIBC_TCACHE_ROOM(bins)                                                                    \
	(((GLIBC_TCACHE_BYTES(bins) + 8 + GLIBC_ALIGN - 1) & ~(GLIBC_ALIGN - 1)) - 8)

/* Since 2.32 (PROTECT_PTR) links of fastbins and tcaches are mixed with where they stand. */
static inline uint64_t glibc_unmangle(uint64_t at, uint64_t link)
{
	return at >> 12 ^ link;
}

/* Is it a heap of an arena, at an address aligned as those are? */
static inline bool glibc_is_heap(const struct glibc_heap_info *heap, uint64_t addr)
{
	uint64_t in_heap = heap->arena & (GLIBC_HEAP_SIZE - 1);

	if (in_heap < sizeof(*heap) || in_heap > GLIBC_ARENA_OFFSET_MAX)
		return false;
	/* The first heap of an arena has none before it, and holds the arena itself. */
	if ((heap->prev == 0) != (heap->arena - in_heap == addr) ||
	    heap->prev % GLIBC_HEAP_SIZE != 0)
		return false;
	return heap->size > 0 && heap->size % GLIBC_PAGE == 0 &&
	       heap->size <= heap->mprotect_size && heap->mprotect_size <= GLIBC_HEAP_SIZE;
}

#endif
