/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the resident memory of a process is made of: its mappings by what they are for, and of the
 * pages that hold heap how much is in live blocks. A pure function of plain data.
 */
#ifndef MEMTRACED_ANALYZE_RSS_H
#define MEMTRACED_ANALYZE_RSS_H

#include "base/ranges.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rss_use {
	RSS_UNKNOWN,
	RSS_FILE,  /* of files, with what programs keep beside them (.bss) and the kernel's */
	RSS_STACK, /* of threads */
	RSS_MMAP,  /* made by mmap outside of allocators */
	RSS_HEAP,  /* an allocator's own */
	RSS_USES
};

struct rss_range {
	uint64_t start, end;
	enum rss_use use;
};

/* A mapping. */
struct rss_row {
	uint64_t start, end;
	uint64_t rss_bytes;
	enum rss_use use; /* where `ranges` say nothing */
};

/* All lists ascend. Of those that may overlap nothing counts twice: the first one holds. */
struct rss_input {
	const struct rss_row *rows;
	size_t n_rows;
	const struct rss_range *ranges; /* of which it is known what they are for */
	size_t n_ranges;
	const struct range *blocks; /* live ones */
	size_t n_blocks;
	bool all_blocks; /* none is missing: heap without a block is free */
	/*
	 * Which pages of [start, end) are resident, malloc'ed. Asked of rows alone that hold blocks
	 * or ranges. 0 or negative errno.
	 */
	int (*resident)(void *ctx, uint64_t start, uint64_t end, struct range **ret_ranges,
			size_t *ret_n);
	void *ctx;
};

struct rss_result {
	uint64_t heap_live; /* bytes of blocks in resident pages */
	uint64_t heap_free; /* the rest of the heap's pages, if all blocks are known */
	uint64_t mmap, file, stack;
	uint64_t unknown;
	uint64_t unknown_heap; /* of that: heap's pages in which blocks may be that are not known */
	uint64_t moved;	       /* pages that came or went between reading of rows and of pages */
};

/* 0, -ENOMEM, or what resident() failed with. */
int rss_reconcile(const struct rss_input *input, struct rss_result *ret_result);

#endif
