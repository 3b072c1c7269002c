/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a stopped process can hold pointers to its blocks: registers, stacks in use, data of files
 * (also what was protected after it was written), other memory that it can write, without what is
 * the allocator's own. Plain data for analyze/reach.h. One thread.
 */
#ifndef MEMTRACED_ANALYZE_PROCESS_ROOTS_H
#define MEMTRACED_ANALYZE_PROCESS_ROOTS_H

#include "analyze/reach_types.h"
#include "base/cleanup.h"
#include "base/ranges.h"
#include "base/vec.h"

#include <sys/types.h>

struct live_block;
struct memory;
struct stop;
struct worker;

struct process_roots {
	VEC(struct reach_range) ranges;
	struct ranges unused; /* of stacks, whether these lie in `ranges` or in blocks */
	VEC(uint64_t) words;
	VEC(struct reach_range) files;
	/*
	 * glibc keeps stacks of threads that have ended, and with each the vector of its
	 * thread-local storage: a block that is nobody's. Addresses of these blocks.
	 */
	VEC(uint64_t) kept_vectors;
};

/* Which registers hold arguments where a function begins. */
enum call_arguments {
	ARGUMENTS_UNKNOWN,
	ARGUMENTS_NONE,
	ARGUMENTS_OF_EXEC, /* execve, fexecve or execveat */
};

struct process_roots_opts {
	/*
	 * There are blocks that are not known, as when it had run before it was traced: what the
	 * allocator holds is looked through as a whole.
	 */
	bool unknown_blocks;
	bool exiting; /* exit handlers may have run */
	pid_t caller; /* this thread stands where a function begins; 0: none is known to */
	enum call_arguments arguments; /* of that function */
	struct worker *worker; /* then it reads files (analyze/exit_frame.h); else NULL is legal */
	/* Vectors of kept stacks are as good as others', not left to the caller. */
	bool with_kept;
	/*
	 * Memory of allocators in which all blocks are known; the rest of it is their own data, and
	 * blocks that were freed. NULL: none.
	 */
	const struct ranges *areas;
	/* Those that are known, ascending by address: they tell whose memory from brk(2) is. */
	const struct live_block *blocks;
	size_t n_blocks;
	uint64_t deadline_ns; /* then glibc's heap is not followed any further; 0: none */
};

/* 0, -ENOMEM, or what reading the process failed with. */
int process_roots_new(const struct memory *memory, const struct stop *stop,
		      const struct process_roots_opts *opts, struct process_roots **ret_roots);
void process_roots_free(struct process_roots *roots); /* NULL is legal */
DEFINE_CLEANUP(struct process_roots, process_roots_free)

#endif
