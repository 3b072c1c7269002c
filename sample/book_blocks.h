/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live blocks by address: buckets of a few, of which neighbours in memory share the pages. A way
 * is claimed by compare and swap: its address is ABI_BLOCK_BUSY while it is written. A block that
 * finds its bucket full goes to one of some others, and is counted there where it would have been.
 * A table that is too full is copied to one of twice its size while all threads wait.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_BLOCKS_H
#define MEMTRACED_SAMPLE_BOOK_BLOCKS_H

#include "bpf/abi_book.h"

#include <stdbool.h>
#include <stdint.h>

struct book_block {
	uint64_t address;
	struct abi_book_block is;
};

struct book_blocks {
	struct abi_book_bucket *buckets; /* of the segment that is in use */
	uint64_t n;			 /* a power of two */
};

/* Which table it is: `all` begins with that of segment 0. */
void book_blocks_use(struct book_blocks *blocks, struct abi_book_bucket *all, uint32_t segment);

enum book_added {
	BOOK_ADDED,
	BOOK_FULL, /* the table has to grow */
};

/*
 * Adds one. One of the same address that is there already has ended without having been taken out:
 * it goes to *ret_stale, whose address is else 0. alone: no other thread runs.
 */
enum book_added book_blocks_add(struct book_blocks *blocks, const struct book_block *block,
				bool alone, struct book_block *ret_stale);

/* Takes one out; false: it is not there. */
bool book_blocks_take(struct book_blocks *blocks, uint64_t address, bool alone,
		      struct book_block *ret_block);

/* The same, and it stays, in a table that others write; false: it is not there. */
bool book_blocks_find(const struct book_blocks *blocks, uint64_t address,
		      struct book_block *ret_block);

/* Copies all of one into another, which is empty, while nobody else is at them. */
bool book_blocks_move(const struct book_blocks *from, struct book_blocks *to);

#endif
