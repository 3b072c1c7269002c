/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of target/glibc/glibc_heap.c: what the steps share, and how they read. First the arenas
 * and their segments are found (glibc_arenas.c), then the chunks of each are walked, then those
 * that only lie in lists are marked (glibc_heap.c), then mapped ones are sought (glibc_arenas.c).
 */
#ifndef MEMTRACED_TARGET_GLIBC_GLIBC_WALK_H
#define MEMTRACED_TARGET_GLIBC_GLIBC_WALK_H

#include "base/vec.h"
#include "target/glibc/glibc_layout.h"
#include "target/glibc/glibc_types.h"
#include "target/memory.h"

#define GLIBC_WINDOW (64U << 10)

/* Chunks that follow each other. */
struct glibc_segment {
	uint64_t start, end;
	uint64_t top; /* the chunk at which they end; 0: a fence at `end` */
	bool is_main;
};

struct glibc_arena {
	uint64_t addr;
	uint64_t words[GLIBC_ARENA_WORDS]; /* 0 for those that it lacks */
};

/* struct malloc_par, as far as it is of use. */
struct glibc_par {
	uint64_t sbrk_base, mmapped_mem, tcache_count;
};

struct glibc_walk {
	const struct glibc_source *source;
	struct glibc_heap *heap;
	uint64_t most_heaps; /* for which there is room in the mappings */
	VEC(struct glibc_arena) arenas;
	VEC(struct glibc_segment) segments;
	bool extent_only;  /* blocks are not wanted */
	uint64_t main_end; /* how far the main arena's segment is understood; 0: it has none */
	VEC(struct glibc_block) blocks; /* those in lists are marked: GLIBC_LISTED in the size */
	struct glibc_par par;
	bool has_par;
	size_t gone; /* words that arenas lack: GLIBC_ARENA_GONE or 0 */
	/* The last piece of memory that was read. */
	uint64_t window_addr;
	size_t window_len;
	unsigned char *window;
};

#define GLIBC_LISTED (1ULL << 63)

bool glibc_is_late(struct glibc_walk *w);
/* False: it cannot be read, or the deadline has come. */
bool glibc_copy(struct glibc_walk *w, uint64_t addr, void *buf, size_t len);
bool glibc_word(struct glibc_walk *w, uint64_t addr, uint64_t *ret_word);
const struct memory_map *glibc_map_at(const struct glibc_walk *w, uint64_t addr);
/* NULL: none is there. */
struct glibc_block *glibc_block_at(struct glibc_walk *w, uint64_t addr);

/* Each: 0 or -ENOMEM. Segments come ascending by address, and none overlap. */
int glibc_find_arenas(struct glibc_walk *w);
int glibc_walk_chunks(struct glibc_walk *w);
int glibc_find_mapped(struct glibc_walk *w);

#endif
