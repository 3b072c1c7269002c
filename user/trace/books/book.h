/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The books that a process keeps of its own allocations: answered, told of cuts, and their totals.
 * No number of theirs is believed, and no wait for them is without bound. For one thread.
 */
#ifndef MEMTRACED_TRACE_BOOKS_BOOK_H
#define MEMTRACED_TRACE_BOOKS_BOOK_H

#include "trace/books/book_file.h"

/* What ABI_BOOK_ASKS has asked for: struct abi_unwind_rule. 0 or negative errno. */
int book_tell_rule(const struct book *book, uint64_t rule);

/* Says whether it is read, and wakes who waits for that. 0 or negative errno. */
int book_answer(const struct book *book, enum abi_book_answer answer);

/* Of later calls: which blocks are entered, and what is kept beside (enum abi_book_want). */
struct book_request {
	struct abi_block_filter filter;
	uint32_t wants;
};
/*
 * Before all that follows, at this epoch and time. The process may have been told of other moments
 * by who has read its book before, which are over. 0; -ESTALE: it does not keep the book any more;
 * or another negative errno.
 */
int book_begin(struct book *book, const struct book_request *request, uint32_t cut_epoch,
	       uint64_t tick);
/* One that goes on without a reader. 0 or negative errno. */
int book_leave(const struct book *book);
/*
 * Can the book be read that a running process has mapped? 0; -EXDEV: a part of what it holds is in
 * its parent's; -ENODATA: another part is in none; as book_begin(); or as book_open_mapped().
 */
int book_try(pid_t pid);

/*
 * A cut begins, or the time goes on: blocks that are made from now on have at least this tick
 * (CLOCK_MONOTONIC in ABI_TICK_NS). All changes are of after the cut when CPUs have seen this
 * (membarrier(2)) and book_await() has returned 0. 0 or negative errno.
 */
int book_tell(const struct book *book, uint32_t cut_epoch, uint64_t tick);
/*
 * Waits for threads that were in the middle of a change. -ETIME: one still is at the deadline
 * (CLOCK_MONOTONIC); or another negative errno.
 */
int book_await(const struct book *book, uint64_t deadline_ns);

struct book_totals {
	int64_t live_bytes;   /* now, as are: */
	uint32_t era;	      /* forks so far, */
	uint32_t ended_forks; /* of which the children of so many look up nothing, */
	uint32_t parent_era;  /* and of its parent; 0: it knows nothing that it inherits; */
	uint64_t parent_file; /* the inode of that one's book, as it says; */
	/* the peak is the latest before the cut: */
	int64_t peak_bytes;
	uint32_t peak_epoch;
	uint64_t race_bytes, failed, unknown_frees;
	uint64_t failing; /* these have failed where the process has ended */
	uint32_t calls;	  /* to enter something, from 0 on again after 2^31 */
	uint64_t lost[ABI_BOOK_LOSSES];
	uint64_t further_errors; /* wrong uses of the heap for which there was no room */
	bool passed_on;		 /* later calls are in no book */
	bool stays;		 /* it goes on when nobody reads */
};

/* At the cut of this epoch, which is the latest. 0 or negative errno. */
int book_read_totals(const struct book *book, uint32_t cut_epoch, struct book_totals *ret_totals);

/* Its forks so far alone. 0 or negative errno. */
int book_read_era(const struct book *book, uint32_t *ret_era);
/* Of so many forks the child does not look up blocks here any more. 0 or negative errno. */
int book_end_forks(const struct book *book, uint32_t n);

#endif
