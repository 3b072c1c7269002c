/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks through memory for words that point into blocks, and calls back for each. Each thread has
 * its own; what they share is only read.
 */
#ifndef MEMTRACED_ANALYZE_SCANNER_H
#define MEMTRACED_ANALYZE_SCANNER_H

#include "analyze/block_index.h"

#define MEMORY_PAGE 4096U

struct memory_reader;

/* `word` is a pointer to the start of the block, or into it. */
typedef void (*scanner_found_fn)(void *ctx, uint32_t block, uint64_t word);

struct scanner_counts {
	uint64_t root_bytes, block_bytes; /* looked through */
	uint64_t unreadable_bytes, glibc_words;
};

struct scanner {
	const struct reach_input *input;
	const struct reach_opts *opts;
	const struct block_index *index;
	struct memory_reader *reader;
	unsigned char *buf;
	uint64_t first, span; /* words outside point to nothing */
	scanner_found_fn found;
	void *ctx;
	struct scanner_counts counts;
};

/* 0 or -ENOMEM. `found` and `ctx` may be changed between scans. */
int scanner_init(struct scanner *scanner, const struct reach_input *input,
		 const struct reach_opts *opts, const struct block_index *index);
void scanner_done(struct scanner *scanner);

void scanner_counts_add(struct scanner_counts *sum, const struct scanner_counts *counts);

/* One word: a register. */
void scanner_word(struct scanner *scanner, uint64_t word);

/* Words of a block that begin in start..limit. */
void scanner_block_part(struct scanner *scanner, uint32_t block, uint64_t start, uint64_t limit);

/* Words of a root that begin in start..limit, but for what blocks cover. */
void scanner_root_part(struct scanner *scanner, const struct reach_range *root, uint64_t start,
		       uint64_t limit);

/* The word at addr, by a scanner's reader; false: it cannot be read. */
bool memory_reader_word(struct memory_reader *reader, uint64_t addr, uint64_t *ret_word);

#endif
