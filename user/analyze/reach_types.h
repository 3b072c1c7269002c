/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a leak check is given, and what it says of each block. Plain data.
 */
#ifndef MEMTRACED_ANALYZE_REACH_TYPES_H
#define MEMTRACED_ANALYZE_REACH_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ranges;

enum reach_class { REACH_DEFINITE, REACH_INDIRECT, REACH_POSSIBLE, REACH_REACHABLE, REACH_CLASSES };

/* What makes a pointer into a block's inside count as one to its start; in the order of trying. */
enum reach_heuristic {
	REACH_BY_POINTER, /* none was needed */
	REACH_STDSTRING,  /* libstdc++'s reference-counted strings: the text behind three words */
	REACH_LENGTH64,	  /* one word behind the start, which holds the rest's size */
	REACH_NEWARRAY,	  /* one word behind the start, which holds the number of elements */
	REACH_MULTIPLE_INHERITANCE, /* a vtable there and at the start */
	REACH_HEURISTICS,
};

#define REACH_ALL_HEURISTICS (((1U << REACH_HEURISTICS) - 1) & ~(1U << REACH_BY_POINTER))

/*
 * Reachable whatever points to it: allocated by the dynamic linker (thread vectors of cached
 * stacks), or in flight, its address in a register of a thread inside the allocator.
 */
#define REACH_BLOCK_ROOT 1U

struct reach_block {
	uint64_t addr, size; /* a size of 0 counts as 1 */
	uint32_t flags;
};

/*
 * The writable segment of the glibc that holds main_arena: its bins point to chunks' headers, which
 * lie in the last word of the block before. Such words are ignored, and counted.
 */
#define REACH_ROOT_GLIBC 1U

/* Of mappings with files: what vtables lie in, and what they point to. */
#define REACH_FILE_READABLE 2U
#define REACH_FILE_EXECUTABLE 4U

struct reach_range {
	uint64_t start, end;
	uint32_t flags;
};

/*
 * Fills the buffer from addr on; returns how many bytes were there before the first page (4 KiB)
 * that cannot be read, 0 or a negative errno when that is the first, and the scan goes on behind
 * that page. Called by many threads at once, never for more than 1 MiB.
 */
typedef int (*reach_read_fn)(void *ctx, uint64_t addr, void *buf, size_t size);

struct reach_input {
	const struct reach_block *blocks; /* ascending, none at 0, none twice, fewer than 2^31 */
	size_t n_blocks;
	/* In any order, not overlapping. Live blocks are taken out here. */
	const struct reach_range *roots;
	size_t n_roots;
	const struct ranges *unused; /* words in there point to nothing; NULL: there are none */
	const uint64_t *words;	     /* registers */
	size_t n_words;
	const struct reach_range *files; /* ascending, not overlapping; for multiple inheritance */
	size_t n_files;
	reach_read_fn read;
	void *ctx;
};

struct reach_opts {
	uint32_t heuristics;  /* 1 << enum reach_heuristic */
	uint32_t alignment;   /* pointers are looked for at its multiples: 1, 2, 4 or 8 */
	bool end_pointers;    /* one past the end is inside; memcheck: false */
	unsigned int threads; /* 0 is 1 */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
};

#define REACH_NO_LEADER UINT32_MAX

struct reach_verdict {
	uint32_t leader; /* of an indirect block: the index of the definite one; REACH_NO_LEADER */
	uint8_t class;	 /* enum reach_class */
	uint8_t heuristic; /* of a reachable block: the first that makes it so */
};

#endif
