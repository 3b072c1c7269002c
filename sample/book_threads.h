/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads that keep a book, and when each of them is at it: who has to change what all share
 * can wait until no other one is.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_THREADS_H
#define MEMTRACED_SAMPLE_BOOK_THREADS_H

#include "sample/book_index.h"
#include "sample/book_memory.h"
#include "sample/walk.h"

/* What one thread has for itself, in pages of its own; after its end another one has it. */
#define BOOK_NODES_NEAR 4096
#define BOOK_FIRST_NEAR 1024 /* a page */
struct book_thread {
	struct abi_book_thread *shared;
	uint32_t number;     /* in abi_book_site */
	uint64_t last_block; /* ~address: a leak check reads this; 0: freed, or another thread's */
	struct book_index sites, pairs;
	struct abi_book_site *last_site;
	uint32_t credit_misses, without_credit; /* book_totals.c */
	uint32_t n_near, not_near; /* so many of nodes_near are in use; asked for in vain */
	struct walker walker;
	uint32_t nodes_near[BOOK_NODES_NEAR]; /* the newest that were asked for */
};

/* Of a process that begins a book: none of the threads of its parent are here. */
void book_threads_begin(void);

/* For the calling thread, which has none; NULL (counted): there is no room. */
struct book_thread *book_thread_new(void);

/* What a thread does before it begins: bits. */
enum book_gate {
	BOOK_HELD = 1,	 /* it waits */
	BOOK_FENCED = 2, /* its own fence is in place of the one that another has all pass */
};
extern uint32_t book_gate __attribute__((visibility("hidden")));

BOOK_SELDOM bool book_thread_refuse(enum abi_book_loss loss);
BOOK_SELDOM bool book_thread_wait(struct book_thread *thread);

/* Begins a change of the book; false (counted): it cannot be made. */
static inline bool book_thread_enter(struct book_thread *thread)
{
	uint32_t at = thread->shared->at;

	if (BOOK_RARELY(at & 1))
		return book_thread_refuse(ABI_BOOK_LOST_NESTED);
	__atomic_store_n(&thread->shared->at, at + 1, __ATOMIC_RELAXED);
	/* The order of that store and this load is the other side's to enforce: keep_out(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return !BOOK_RARELY(__atomic_load_n(&book_gate, __ATOMIC_RELAXED)) ||
	       book_thread_wait(thread);
}

static inline void book_thread_leave(struct book_thread *thread)
{
	__atomic_store_n(&thread->shared->at, thread->shared->at + 1, __ATOMIC_RELEASE);
}

/*
 * Of a thread that is at the book: waits until no other one is, and keeps them out. It is outside
 * itself for a while, so that another one may have done the same before it. False: they could not
 * be waited for, and nothing is held.
 */
bool book_threads_hold(struct book_thread *mine);
void book_threads_release(void);
/* In place of that where the book is over: none of them comes to it any more. */
void book_threads_keep_out(void);
/* Before system calls are filtered: threads can then be held without one. It costs each call. */
void book_threads_fence(void);
void book_threads_fence_no_more(void);

#endif
