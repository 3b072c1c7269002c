/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A made-up process for leak checks: regions of memory, blocks, roots. Fails the test on its own
 * errors.
 */
#ifndef MEMTRACED_TESTS_UNIT_HEAP_FIXTURE_H
#define MEMTRACED_TESTS_UNIT_HEAP_FIXTURE_H

#include "analyze/reach.h"
#include "base/ranges.h"
#include "base/vec.h"

struct heap_region {
	uint64_t addr;
	size_t size;
	unsigned char *data;
	bool *unreadable; /* by page */
};

struct heap {
	VEC(struct heap_region) regions;
	VEC(struct reach_block) blocks; /* heap_check sorts them */
	VEC(struct reach_range) roots;
	VEC(struct reach_range) files;
	struct ranges unused;
	VEC(uint64_t) words;
	struct reach_opts opts;
	struct reach_verdict *verdicts; /* of the last check */
	struct reach_stats stats;
};

/* Memcheck's options; empty. */
void heap_init(struct heap *heap);
void heap_done(struct heap *heap);

/* Zeroed memory; whole pages. */
void heap_region(struct heap *heap, uint64_t addr, size_t size);
void heap_unreadable(struct heap *heap, uint64_t page);
/* The address itself need not be aligned. */
void heap_put(struct heap *heap, uint64_t addr, uint64_t word);
void heap_put_text(struct heap *heap, uint64_t addr, const char *text);
void heap_block(struct heap *heap, uint64_t addr, uint64_t size, uint32_t flags);
void heap_root(struct heap *heap, uint64_t start, uint64_t end, uint32_t flags);
void heap_file(struct heap *heap, uint64_t start, uint64_t end, uint32_t flags);
void heap_unused(struct heap *heap, uint64_t start, uint64_t end);
void heap_word(struct heap *heap, uint64_t word);

/* A reach_read_fn over a struct heap. */
int heap_read(void *ctx, uint64_t addr, void *buf, size_t size);

struct reach_input heap_input(struct heap *heap);
/* Sorts, classifies, keeps verdicts and statistics. */
void heap_check(struct heap *heap);
/* Of the block at addr, by the last check. */
const struct reach_verdict *heap_verdict(const struct heap *heap, uint64_t addr);
/* The address of the block that an indirect one hangs on, or 0. */
uint64_t heap_leader(const struct heap *heap, uint64_t addr);

#endif
