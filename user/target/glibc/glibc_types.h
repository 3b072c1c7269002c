/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What target/glibc/glibc_heap.h is given, and what it finds.
 */
#ifndef MEMTRACED_TARGET_GLIBC_GLIBC_TYPES_H
#define MEMTRACED_TARGET_GLIBC_GLIBC_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_map;

struct glibc_source {
	/* Copies up to the first page that cannot be read: bytes, or negative errno for none. */
	ssize_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *ctx;
	const struct memory_map *maps; /* ascending; target/memory.h */
	size_t n_maps;
	const uint64_t *threads; /* their thread pointers: fs base, tpidr_el0; 0: not known */
	size_t n_threads;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
};

/* What malloc returned, and malloc_usable_size() of it: what was asked for is not known. */
struct glibc_block {
	uint64_t addr, size;
};

struct glibc_heap {
	struct glibc_block *blocks; /* ascending by address */
	size_t n_blocks;
	size_t n_arenas; /* 0: no glibc whose malloc was used */
	/* Bytes of chunks with their heads: */
	uint64_t free_bytes;   /* in bins, fastbins and tops: mallinfo2's fordblks */
	uint64_t cached_bytes; /* in threads' caches, these themselves included */
	uint64_t mapped_bytes; /* with mappings of their own: mallinfo2's hblkhd */
	/* Of the allocator's memory, what may hold blocks that are not among these. */
	uint64_t unread_bytes;
	/* A thread was stopped while it changed one; lists may have been between two states. */
	size_t locked_arenas;
	size_t broken_lists;
	/* Threads that use an arena, without a cache that is understood: it may hold free ones. */
	size_t unknown_caches;
	/* malloc_par was not found: nothing is known of mapped chunks. */
	bool no_parameters;
	bool is_late; /* the deadline came first */
};

#endif
