/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address → block, for looking at each word of a process's memory: a table of regions, and where
 * several blocks share one, a table of its pages, so that most look-ups are two loads and a short
 * search. Read only once made: any thread.
 */
#ifndef MEMTRACED_ANALYZE_BLOCK_INDEX_H
#define MEMTRACED_ANALYZE_BLOCK_INDEX_H

#include "analyze/reach_types.h"
#include "base/cleanup.h"

#define BLOCK_NONE UINT32_MAX

struct block_index;

/*
 * The blocks are not copied. -EINVAL: not ascending, at 0, past the end of memory, or too many; or
 * -ENOMEM.
 */
int block_index_new(const struct reach_block *blocks, size_t n, struct block_index **ret_index);
void block_index_free(struct block_index *index);
DEFINE_CLEANUP(struct block_index, block_index_free)

/* Where the block ends: at least a byte behind its start, at most where the next one starts. */
uint64_t block_index_end(const struct block_index *index, uint32_t block);
/* Blocks that reach into the next one. */
uint64_t block_index_overlapping(const struct block_index *index);

/* The first block that ends behind addr, which may start behind it, too; n if there is none. */
uint32_t block_index_after(const struct block_index *index, uint64_t addr);

/*
 * All that could be in a block: first <= addr < first + span. A span of 0: there are no blocks.
 */
void block_index_span(const struct block_index *index, uint64_t *ret_first, uint64_t *ret_span);

/* The block that holds addr, which is within the span, or BLOCK_NONE. */
uint32_t block_index_find(const struct block_index *index, uint64_t addr);

#endif
