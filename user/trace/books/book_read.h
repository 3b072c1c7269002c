/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in a book: sites, blocks and stacks. Contents that no library writes are left out.
 */
#ifndef MEMTRACED_TRACE_BOOKS_BOOK_READ_H
#define MEMTRACED_TRACE_BOOKS_BOOK_READ_H

#include "trace/books/book_file.h"

/* What one thread has counted of a site. */
struct book_site {
	uint32_t node;	   /* of its stack; ABI_BOOK_NO_NODE: there was no room for that */
	uint16_t function; /* enum abi_book_function */
	struct abi_site_counts counts; /* peak_blocks are at that peak */
	int64_t peak_bytes;
};
typedef int (*book_site_fn)(const struct book_site *site, void *userdata);

/*
 * All sites at the cut of this epoch, which is the latest. 0; -EBADMSG: they add up to more than
 * can be; another negative errno; or what the function gave that was not 0.
 */
int book_read_sites(const struct book *book, uint32_t cut_epoch, book_site_fn fn, void *userdata);

/* Of freed_era: it is live. */
#define BOOK_LIVE UINT32_MAX

struct book_block {
	uint64_t address, size;
	uint64_t tick; /* when it was made: our CLOCK_MONOTONIC in ABI_TICK_NS */
	uint32_t node;
	uint32_t era;	    /* forks of the process before it, or before it was shed */
	uint32_t freed_era; /* before its end, if children may hold it; or BOOK_LIVE */
	bool is_shed;	   /* the process has freed what it had from its parent: an address alone */
	uint16_t function; /* enum abi_book_function */
	uint8_t form;	   /* enum abi_form */
};
typedef int (*book_block_fn)(const struct book_block *block, void *userdata);

/*
 * Blocks as they are now; of those that change hands meanwhile some may be missing. -EAGAIN: the
 * table has moved meanwhile, so that what was told may be out of date, and some may be missing;
 * -ETIME: not done by the deadline (CLOCK_MONOTONIC; 0: there is none); else as book_read_sites().
 */
int book_read_blocks(const struct book *book, uint64_t deadline_ns, book_block_fn fn,
		     void *userdata);
/* Blocks that were freed while children may hold them: after the former. */
int book_read_tombs(const struct book *book, uint64_t deadline_ns, book_block_fn fn,
		    void *userdata);

/* A wrong use of the heap. */
struct book_error {
	uint32_t node;
	uint16_t function; /* enum abi_book_function */
	uint16_t kind;	   /* enum abi_heap_error_kind */
	uint64_t count;
	uint64_t time_ns, addr, size; /* as of struct abi_heap_error */
	struct book_block
		block;	     /* that addr is in, or was; its address is 0 where it is not known */
	uint32_t freed_node; /* where it was freed before, */
	uint16_t freed_function; /* and by what; 0: not known */
	uint32_t tid;		 /* by which thread */
};
typedef int (*book_error_fn)(const struct book_error *error, void *userdata);

/* All that there are now. 0, a negative errno, or what the function gave that was not 0. */
int book_read_errors(const struct book *book, book_error_fn fn, void *userdata);

/* One of the newest that were freed (ABI_BOOK_ERRORS). */
struct book_freed {
	struct book_block block;
	uint32_t node;	   /* where it was freed, */
	uint16_t function; /* and by what */
};
typedef int (*book_freed_fn)(const struct book_freed *freed, void *userdata);

/* As book_read_errors(); what changes hands meanwhile is left out. */
int book_read_freed(const struct book *book, book_freed_fn fn, void *userdata);

/* Blocks of a site that one thread has freed at one place; both nodes as that of a site. */
struct book_pair {
	uint32_t node, free_node;
	uint16_t function, free_function; /* enum abi_book_function */
	struct abi_free_pair counts;
};
typedef int (*book_pair_fn)(const struct book_pair *pair, void *userdata);

/*
 * All that there are now; what is freed meanwhile may be a part of its pair. -EBADMSG: they add up
 * to more than can be; else as book_read_errors().
 */
int book_read_pairs(const struct book *book, book_pair_fn fn, void *userdata);

struct book_stack {
	uint64_t frame[ABI_MAX_FRAMES]; /* as in abi_ev_stack */
	uint64_t exact[ABI_EXACT_WORDS];
	size_t n;
	uint8_t cut;	  /* enum abi_stack_cut */
	bool guided;	  /* a frame was found by its callee's frame pointer */
	uint32_t epoch;	  /* another one when code has gone */
	uint64_t time_ns; /* when all of its code was there: our CLOCK_MONOTONIC */
};

/*
 * The stack that begins with this frame; of a longer one than `most` the first frames, and those
 * before code that went before book_begin(), or of which it is not known when it came. 0; -EINVAL:
 * it is none; or another negative errno.
 */
int book_read_stack(struct book *book, uint32_t node, size_t most, struct book_stack *ret_stack);

#endif
