/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The books of exact depth without probes: this process's live blocks, its sites with their
 * stacks, and its totals, in memory that the daemon reads (bpf/abi_book.h). The order of a change
 * is that of the BPF programs (bpf/account.bpf.h): the block, its site, the process's total, its
 * peak.
 *
 *   book.c          the process
 *   book_calls.c    what one call changes
 *   book_table.c    the table of live blocks, and how it grows
 *   book_blocks.c   such tables
 *   book_sites.c    what each thread has counted
 *   book_stacks.c   stacks as nodes of a tree
 *   book_totals.c   live bytes of all, and their peak
 *   book_errors.c   wrong uses of the heap
 *   book_forms.c    new and delete, malloc and free
 *   book_frees.c    where blocks are freed
 *   book_forks.c    what a child has from its parent
 *   book_threads.c  who is at it
 *   book_clock.c    what time it is
 *   book_asks.c     what the daemon is asked
 *   book_memory.c   where it lies
 *
 * Each thread writes its own sites without atomics. No lock is held that a thread's end or a
 * signal's handler could leave: who cannot get one in time counts a loss.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_H
#define MEMTRACED_SAMPLE_BOOK_H

#include "sample/book_blocks.h"
#include "sample/book_forms.h"
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
/* Forms are looked at since the first call. */
extern bool book_knows_forms __attribute__((visibility("hidden")));

/* A block that has been taken out, to be entered again or to be counted as freed. */
struct book_taken {
	struct book_block block;
	bool temporary; /* nothing was allocated since */
	bool inherited; /* it is of before a fork */
	struct book_birth birth;
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
	struct book_mark marks[2]; /* by enum book_form_of */
};
extern __thread struct book_local book_local __attribute__((visibility("hidden")));

/* Is there a book, or can there be one? */
bool book_is_kept(void);

/* From now on there may be calls that do not come here: what is counted is not all (counted). */
void book_bypass(void);

/* Is the next allocator one all of whose entries are known? Then what none has given is wrong. */
bool book_is_complete(void);

/* Is anybody there who reads? Else calls are passed on, or it goes on without. */
void book_look_for_reader(void);

/* Of book_this_thread(). */
struct book_thread *book_begin_thread(void);

/* The calling thread; NULL (counted): there is no book, or no room. */
static inline struct book_thread *book_this_thread(void)
{
	struct book_local *local = &book_local;

	if (BOOK_RARELY(book_process->state != BOOK_KEPT) && !book_is_kept())
		return NULL;
	if (BOOK_RARELY(local->generation != book_process->generation))
		return book_begin_thread();
	return local->thread;
}

/* Begins a change of the book; NULL (counted): it cannot be made. */
static inline struct book_thread *book_come(void)
{
	struct book_thread *thread = book_this_thread();

	return thread && book_thread_enter(thread) ? thread : NULL;
}
/*
 * Ends it (counted), and gives back nearly all of its addresses, and those of ancestors' books. Not
 * where other threads cannot be kept out of it.
 */
void book_give_up(void);

#endif
