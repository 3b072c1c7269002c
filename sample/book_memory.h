/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a book, and what all that writes in it needs: pages, locks, and to know whether
 * other threads run. Nothing here allocates from the allocator that is traced.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_MEMORY_H
#define MEMTRACED_SAMPLE_BOOK_MEMORY_H

#include "bpf/abi_book.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BOOK_SELDOM __attribute__((noinline, cold))
#define BOOK_RARELY(x) __builtin_expect(!!(x), 0)

/* What this process has mapped of its book; it is gone in a forked child. */
struct book {
	struct abi_book_header *header;
	struct abi_book_thread *threads;
	struct abi_book_node *nodes;
	struct abi_book_site *sites;
	struct abi_book_site_cut *cuts;
	struct abi_book_pair *pairs;
	struct abi_book_freed *freed;
	struct abi_book_bucket *buckets;
};
extern struct book book __attribute__((visibility("hidden")));

/* Maps a new, empty book in place of the last one: its descriptor; -1: there can be none. */
int book_map(void);

/* All of it but the header and what threads say of themselves. */
void book_unmap(void);

/* What is asked for beside the counts, which seldom is anything: enum abi_book_want. */
static inline uint32_t book_wants(void)
{
	return __atomic_load_n(&book.header->wants, __ATOMIC_RELAXED);
}

/* The next number of what `begun` counts, below `most`; 0: there is no room for more. */
uint32_t book_next_number(uint32_t *begun, uint32_t most);

/* Counts what could not be entered. */
void book_lose(enum abi_book_loss loss);

/* The C library's __libc_single_threaded. */
extern const char *book_single_threaded __attribute__((visibility("hidden")));

/* No other thread runs: what they could do at the same time need not be thought of. */
static inline bool book_is_alone(void)
{
	return *book_single_threaded;
}

/* Zeroed pages of this process; NULL: there are none. */
void *book_pages(size_t bytes);
/* As many more behind them, where they are or elsewhere; NULL: there are none, nor these. */
void *book_pages_double(void *pages, size_t bytes);
/* Gives them back; NULL is legal. */
void book_pages_free(void *pages, size_t bytes);

/*
 * A lock for what is seldom; false: it could not be had, which may be for good, as a thread can end
 * with it.
 */
bool book_lock(uint32_t *lock);
void book_unlock(uint32_t *lock);
/*
 * Between the i-th look, from 0 on, and the next one at what another thread does: spins, yields,
 * then sleeps, two seconds in all. False: it has been long enough.
 */
bool book_wait(uint32_t i);

pid_t book_thread_id(void);

/*
 * Are the process's system calls filtered (seccomp(2))? Then those that an allocator has no use for
 * may end it, and are not made.
 */
bool book_is_filtered(void);
/* How many filters it has set, or is about to. */
extern uint32_t book_filters __attribute__((visibility("hidden")));

#endif
