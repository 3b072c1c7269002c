/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live blocks by address: buckets of a few, of which neighbours in memory share the pages. A way
 * is claimed by compare and swap: its address is ABI_BLOCK_BUSY while it is written. A block that
 * finds its bucket full goes to one of some others, and is counted there where it would have been.
 * A table that is too full is doubled in its place while all threads wait.
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

/* When a block was made, and by which thread. */
struct book_birth {
	uint64_t time_ns; /* 0: not known */
	uint32_t tid;
};

struct book_blocks {
	struct abi_book_bucket *buckets;
	uint64_t n; /* a power of two */
	bool doubles;
	struct book_birth *births; /* of each way, in pages of book_births_bytes(); or NULL */
};

static inline size_t book_births_bytes(uint64_t n_buckets)
{
	return n_buckets * ABI_BOOK_WAYS * sizeof(struct book_birth);
}

/* A table that is `doublings` (abi_book_header) times doubled, without births. */
void book_blocks_use(struct book_blocks *blocks, struct abi_book_bucket *buckets,
		     uint32_t doublings);

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

/*
 * Has the memory loaded that an address is looked for in first, which is not waited for. Above a
 * million live blocks most accesses miss all caches.
 */
void book_blocks_load(const struct book_blocks *blocks, uint64_t address);

/* Takes one out; false: it is not there. */
bool book_blocks_take(struct book_blocks *blocks, uint64_t address, bool alone,
		      struct book_block *ret_block);

/* The same, and it stays, in a table that others write; false: it is not there. */
bool book_blocks_find(const struct book_blocks *blocks, uint64_t address,
		      struct book_block *ret_block);

/* Where a block's birth is kept; NULL: it is not there, or none are kept. */
struct book_birth *book_blocks_birth(const struct book_blocks *blocks, uint64_t address);

/* How many blocks are in another bucket than their first one, while nobody else is at them. */
uint64_t book_blocks_elsewhere(const struct book_blocks *blocks);

/*
 * Doubles the table while nobody else changes it; behind it, and behind births, is memory of its
 * size that is zero.
 * places: room for book_blocks_elsewhere() numbers. Each block is found at any moment by who looks
 * for its old place first (book_blocks_find() on a table that doubles). Returns how many blocks
 * found no place.
 */
uint64_t book_blocks_double(struct book_blocks *blocks, uint32_t *places);

#endif
