/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which live blocks a process can still reach, by memcheck's rules: a pure function of a snapshot
 * (blocks, roots, a callback that reads memory), so that nothing here knows of processes. The
 * result depends neither on the order in which memory is read nor on the number of threads.
 *
 * A block is reachable by a chain of pointers to starts of blocks that begins in a root; possible
 * when the only chains have a pointer into a block's inside; lost otherwise. Of lost blocks the
 * lowest of those that lead to the others is definite, what hangs on it is indirect.
 *
 * Memory: 13 bytes a block, an index of 16 KiB for each 16 MiB that hold more than one block and of
 * at most 64 MiB for the span of addresses, 1.3 MiB a thread.
 */
#ifndef MEMTRACED_ANALYZE_REACH_H
#define MEMTRACED_ANALYZE_REACH_H

#include "analyze/reach_types.h"

enum reach_end {
	REACH_COMPLETE,
	REACH_CUT_ROOTS,   /* lost ones may be possible, both may be reachable */
	REACH_CUT_CLIQUES, /* what is called definite may be indirect */
};

struct reach_stats {
	enum reach_end end;
	uint64_t root_bytes, block_bytes; /* looked through */
	uint64_t unreadable_bytes;	  /* that should have been */
	uint64_t glibc_words;		  /* ignored: REACH_ROOT_GLIBC */
	uint64_t overlapping; /* blocks cut short where the next begins: a free was missed */
	uint64_t ns;
};

/* Memcheck's: all heuristics, pointers at multiples of 8, one thread, no deadline. */
void reach_opts_init(struct reach_opts *opts);

/*
 * Fills verdicts[n_blocks]. 0, -EINVAL when blocks are not as said or the alignment is none of
 * those, or -ENOMEM. Threads that cannot be started are done without.
 */
int reach_classify(const struct reach_input *input, const struct reach_opts *opts,
		   struct reach_verdict *verdicts, struct reach_stats *ret_stats);

/* "definite", "indirect", "possible", "reachable": as match-leak-kinds has them. */
const char *reach_class_name(enum reach_class class);
/* "stdstring", "length64", "newarray", "multipleinheritance"; "" for REACH_BY_POINTER. */
const char *reach_heuristic_name(enum reach_heuristic heuristic);

#endif
