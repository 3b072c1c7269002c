/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a process's book (bpf/abi_book.h): opened, read, written. The process may write
 * anything into it at any time, and take its pages back. So it is not touched in memory, as such a
 * page would become ours, or have no room (SIGBUS). Nor is anything asked that takes the file's
 * lock (write(2), SEEK_DATA, F_ADD_SEALS), which a writer may hold for ever: pread(2) does not. For
 * one thread.
 */
#ifndef MEMTRACED_TRACE_BOOKS_BOOK_FILE_H
#define MEMTRACED_TRACE_BOOKS_BOOK_FILE_H

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "bpf/abi_book.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Where code was that went: up to the next one's start, at this time for the last time; 0: none. */
struct book_gone {
	uint64_t start, time_ns;
};

struct book {
	int fd;
	uint64_t inode;
	dev_t device;
	void *header;	      /* in memory, where the kernel alone may touch it */
	struct hashmap pages; /* of nodes: book_read.c */
	/* When objects were seen, by their numbers from 1 on, as far as they were read. */
	uint64_t *object_ns;
	uint32_t n_objects;
	size_t copies; /* so many blocks may be copied at a time; 0: any number */
	/* What earlier readers have told of moments is below this: book_begin(). */
	uint32_t first_epoch;
	/* The process's CLOCK_MONOTONIC less ours: it may be in another time namespace. */
	int64_t clock_ns;
	/* Code that went before that, by addresses. */
	struct book_gone *gone;
	size_t n_gone;
};

/*
 * What the process has open as `fd`. 0; -EINVAL: it is no book, or one of another version;
 * -EACCES: its size is not sealed; -EBUSY: it is open here or in another process that reads it; or
 * another negative errno.
 */
int book_open(pid_t pid, int fd, struct book **ret_book);
/* The same of what it has mapped to write, as the library does; -ENOENT: that is no book. */
int book_open_mapped(pid_t pid, struct book **ret_book);
/* The same of what we have open, which it takes over in any case. */
int book_open_file(int fd, struct book **ret_book);
void book_close(struct book *book); /* NULL is legal */
/* Nodes that were read are read again: others may have come beside them. */
void book_forget_nodes(struct book *book);

/* Has the process this file mapped? As a child of its own has. */
bool book_is_mapped(const struct book *book, pid_t pid);
/* Has any process but its own and us? Also where that cannot be known. */
bool book_is_mapped_elsewhere(const struct book *book, pid_t pid);
DEFINE_CLEANUP(struct book, book_close)

/* --- for the files of trace/books/ alone ------------------------------------------------------ */

/* All of it. 0 or negative errno. */
int book_get(const struct book *book, uint64_t at, void *to, size_t len);
int book_get_header(const struct book *book, struct abi_book_header *ret_header);
/* The same of the header alone. */
int book_put(const struct book *book, size_t at, const void *from, size_t len);
/*
 * The header, for reading the tables. -EBADMSG: these are said to be far larger than all that was
 * ever written, so that we would read holes, at more cost than the process has.
 */
int book_get_tables(const struct book *book, struct abi_book_header *ret_header);
/*
 * What was told of tables so far took so many bytes there. -EBADMSG: the whole file has fewer. The
 * process may move its pages to where we read next, so that few of them are as many as it likes.
 */
int book_check_told(const struct book *book, uint64_t bytes);

/*
 * More than any process moves, in bytes: what all numbers of a book add up to, so that sums of them
 * do not overflow.
 */
#define BOOK_MOST (1LL << 54)

static inline int64_t book_clamp(int64_t n)
{
	return n > BOOK_MOST ? BOOK_MOST : n < -BOOK_MOST ? -BOOK_MOST : n;
}

/* Of calls that were lost: those of all processes can be added up, so that none hides others'. */
static inline uint64_t book_lost(uint64_t n)
{
	return n < UINT32_MAX ? n : UINT32_MAX;
}

/* Of a number of theirs: more than `most` there are not. */
static inline uint32_t book_at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

/* Entries of a table from first to end. */
struct book_range {
	uint64_t first, end;
};
/* The next entries of a table that ends before `n`: from *first on, `most` at once. False: none. */
static inline bool book_next_range(uint64_t n, uint64_t most, uint64_t *first,
				   struct book_range *ret_range)
{
	uint64_t left = *first < n ? n - *first : 0;

	*ret_range = (struct book_range){ *first, *first + (left < most ? left : most) };
	*first = ret_range->end;
	return left > 0;
}

#endif
