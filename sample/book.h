/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The books of exact depth without probes: this process's live blocks, its sites with their
 * stacks, and its totals, in memory that the daemon reads (bpf/abi_book.h). The order of a change
 * is that of the BPF programs (bpf/account.bpf.h): the block, its site, the process's total, its
 * peak.
 *
 *   book.c          the process, and what one call changes
 *   book_blocks.c   live blocks
 *   book_sites.c    what each thread has counted
 *   book_stacks.c   stacks as nodes of a tree
 *   book_totals.c   live bytes of all, and their peak
 *   book_errors.c   wrong uses of the heap
 *   book_forks.c    what a child has from its parent
 *   book_threads.c  who is at it
 *   book_memory.c   where it lies
 *
 * Each thread writes its own sites without atomics. No lock is held that a thread's end or a
 * signal's handler could leave: who cannot get one in time counts a loss.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_H
#define MEMTRACED_SAMPLE_BOOK_H

#include "sample/book_blocks.h"
#include "sample/book_threads.h"

enum book_state {
	BOOK_NONE, /* of this process; in a child after a fork too */
	BOOK_KEPT,
	BOOK_REFUSED, /* all calls are passed on */
};

/*
 * On a page that the kernel clears in a forked child, however it was made (madvise(2),
 * MADV_WIPEONFORK).
 */
struct book_process {
	enum book_state state;
	uint32_t generation; /* of threads' pages: those of before the fork are of another one */
};
extern struct book_process *book_process __attribute__((visibility("hidden")));

/* It is kept although nobody reads it, as somebody may begin to at any time. */
extern bool book_stays __attribute__((visibility("hidden")));

/* A block that has been taken out, to be entered again or to be counted as freed. */
struct book_taken {
	struct book_block block;
	bool temporary; /* nothing was allocated since */
	bool inherited; /* it is of before a fork */
};

/* A call of the next allocator's that is in progress, by its caller's frame. */
struct book_call {
	uint64_t sp; /* 0: there is none */
	uint64_t pc;
	const void *throws;	 /* the function, if an exception may leave it */
	bool has_taken;		 /* it replaces a block, */
	struct book_taken taken; /* this one */
};

/* What a thread knows of itself; all zero at its start. */
struct book_local {
	struct book_thread *thread;
	uint32_t generation;
	bool decides; /* whether its process keeps a book */
	/* What begins within it is not the program's, unless it was left: exact_is_inner(). */
	struct book_call inside;
};
extern __thread struct book_local book_local __attribute__((visibility("hidden")));

/*
 * All of them keep errno. `function`: enum abi_book_function. from: the registers of the caller.
 */
void book_enter(void *block, size_t size, uint32_t function, const struct walk_registers *from);
/* The same where it replaces one that was taken out, whose end is counted. */
void book_replace(const struct book_taken *old, void *block, size_t size, uint32_t function,
		  const struct walk_registers *from);
/*
 * Before the block is freed: it leaves the book. A free of what is in none is counted, and an error
 * where that is sure.
 */
void book_free(void *block, uint32_t function, const struct walk_registers *from);
/*
 * The same where it is not sure that it will be freed: one of the next two follows. False: it is in
 * no book.
 */
bool book_take(void *block, struct book_taken *ret_taken);
void book_freed(const struct book_taken *taken);
/* It was not freed after all. */
void book_put_back(const struct book_taken *taken);
/* A free of what is in no book. */
void book_unknown_free(void *block, uint32_t function, const struct walk_registers *from);
/*
 * Around a call that an exception may leave, which then has failed: it has begun, has returned, was
 * found to be left, or has returned after that.
 */
void book_may_fail(void);
void book_may_fail_no_more(void);
void book_was_left(void);
void book_was_not_left(void);
/* An allocation has given nothing. from: NULL: that is counted alone. */
void book_failed(size_t size, uint32_t function, const struct walk_registers *from);
/* What is wrong about a request: enum abi_heap_error_kind. replaced: NULL is legal. */
void book_wrong_request(uint32_t kind, void *replaced, size_t size, uint32_t function,
			const struct walk_registers *from);

/* Does the call go on from which this caller seems to have come? Counted, where it is not known. */
enum walk_meeting book_find_call(const struct book_call *call, const struct walk_registers *from);

/* Is there a book, or can there be one? */
bool book_is_kept(void);

#endif
