/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that keep books of their own calls (bpf/abi_book.h), in place of probes: the library
 * that does it tells of each book by a probe of its own, and waits until it is answered. What is in
 * a book is read at cuts, as are the programs' maps.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_BOOKS_H
#define MEMTRACED_TRACE_LIVE_LIVE_BOOKS_H

#include "bpf/abi_free_pair.h"
#include "bpf/abi_heap_error.h"
#include "trace/live/live_state.h"

/* --- library_probe.c -------------------------------------------------------------------------- */

/* With opts.book_library: the file and its probe. Before the programs are loaded. */
int live_books_find(struct live *live);
/* The probe is there, in all processes: after that, and after live_await_probes(). */
int live_books_attach(struct live *live);
void live_books_done(struct live *live);

/* --- live_books.c ----------------------------------------------------------------------------- */

int live_on_book(struct live *live, const struct abi_ev_book *ev);
/*
 * Of a process that runs already, after live_add_maps(): if it keeps a book, it is counted by that,
 * from its first call on. Not where another process reads it, or it has ceased to. 0 or negative
 * errno.
 */
int live_book_adopt(struct live *live, struct live_process *process);

/* Processes know the time, and what they hold is known. */
void live_books_tick(struct live *live);
/* Begins a new epoch of cuts, of programs and books. */
void live_books_raise_epoch(struct live *live);
/* As live_await_programs(), of both. */
bool live_books_await(struct live *live);
/* The totals at the cut of processes that are not settled: into what the programs keep of them. */
void live_books_take_totals(struct live *live, bool ended_only);

/* A child was forked: of a process that keeps a book, it will look up blocks there. */
void live_book_fork(struct live_process *parent, struct live_process *child);
/* After ended images were given back: which forks' children look up nothing any more. */
void live_books_end_forks(struct live *live);

/* The next process that keeps a book among those of which it has blocks; or NULL. */
struct live_process *live_book_ancestor(const struct live *live,
					const struct live_process *process);

/* After its end: calls that a child has made in its memory since it was settled are lost. */
void live_book_count_outlived(struct live *live, struct live_process *process);

/* Closes it. */
void live_book_done(struct live_process *process);

/* Of live_book_frees(), so many blocks had no room in a reading. */
void live_book_frees_lost(struct live *live, struct live_process *process, uint64_t n);

/* --- book_stacks.c ---------------------------------------------------------------------------- */

/* As in maps of the programs: stack and function have their ids of records. */
struct live_book_site {
	uint64_t stack;
	uint16_t fn;
	const struct abi_site_counts *counts; /* at the cut; peak_blocks are at that peak */
	int64_t peak_bytes;
};
typedef int (*live_book_site_fn)(const struct live_book_site *site, void *userdata);

/* A site may come several times, by parts. Stacks that are new are handed over before. */
int live_book_sites(struct live *live, struct live_process *process, live_book_site_fn fn,
		    void *userdata);

/* Stacks alone that are new are handed over. 0 or negative errno. */
int live_book_read_stacks(struct live *live, struct live_process *process);

struct live_book_block {
	uint64_t address;
	bool is_shed; /* book_block.is_shed */
	struct abi_block block;
	uint32_t freed_era; /* or BLOCK_LIVE, of block_walk.h */
};
typedef int (*live_book_block_fn)(const struct live_book_block *block, void *userdata);

/*
 * As book_read_blocks(): -EAGAIN is to be tried again, from the first. Stacks that no reading of
 * sites has shown so far are ABI_STACK_OTHER.
 */
int live_book_blocks(struct live *live, struct live_process *process, uint64_t deadline_ns,
		     live_book_block_fn fn, void *userdata);
/* Those that were freed while children may hold them: after the former. */
int live_book_tombs(struct live *live, struct live_process *process, uint64_t deadline_ns,
		    live_book_block_fn fn, void *userdata);
/* Of its blocks so many were not copied, as there was no room: LOSS_BOOK. */
void live_book_count_left_out(struct live *live, struct live_process *process, uint64_t n);
/* How often the process has forked, as its book has it. */
uint32_t live_book_era(const struct live_process *process);

/* A wrong use of the heap, as the programs keep them. */
struct live_book_error {
	struct abi_heap_error_key key;
	struct abi_heap_error value;
};
typedef int (*live_book_error_fn)(const struct live_book_error *error, void *userdata);
/* Stacks that are new are handed over before. */
int live_book_errors(struct live *live, struct live_process *process, live_book_error_fn fn,
		     void *userdata);

/* One of the newest that were freed, with --heap-errors. */
struct live_book_freed {
	uint64_t address;
	struct abi_freed value;
};
typedef int (*live_book_freed_fn)(const struct live_book_freed *freed, void *userdata);
/* Stacks that are new are handed over before. */
int live_book_freed(struct live *live, struct live_process *process, live_book_freed_fn fn,
		    void *userdata);

/* Blocks of a site that were freed at one place; it may come several times, by parts. */
struct live_book_free {
	struct abi_free_key key;
	struct abi_free_pair value;
};
typedef int (*live_book_free_fn)(const struct live_book_free *pair, void *userdata);
/* Stacks that are new are handed over before. */
int live_book_frees(struct live *live, struct live_process *process, live_book_free_fn fn,
		    void *userdata);

void live_book_stacks_done(struct live_process *process);

#endif
