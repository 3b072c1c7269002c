/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that a forked child has from its parent. Nothing is copied: the child looks into its
 * ancestors' books, of which it has a mapping to read, for a block that is older than its fork;
 * what these free while children may look there leaves a tomb. The rules, and why no block is
 * missed or found twice, are those of bpf/block.bpf.h (docs/hacking/accounting.md, "Shared
 * blocks").
 */
#ifndef MEMTRACED_SAMPLE_BOOK_FORKS_H
#define MEMTRACED_SAMPLE_BOOK_FORKS_H

#include "sample/book_blocks.h"
#include "sample/book_threads.h"

/*
 * A process begins its book, whose file this is. After a fork: what it has from its parent is known
 * from now on.
 */
void book_forks_begin(int fd);

/* Is the address in a book that children, or this process of its ancestors, look up blocks in? */
bool book_forks_have(uintptr_t address);
/* These are not mapped any more; nobody looks there. */
void book_forks_end(void);

/*
 * Around a fork, in the parent: `mine`, the caller, is at the book, and no other thread is until it
 * is done. NULL: it could not come to it; what others do meanwhile may then be on the wrong side.
 */
void book_forks_prepare(struct book_thread *mine);
/* Gives what book_forks_prepare() was given. */
struct book_thread *book_forks_done(void);

/* Is the block in children that may look for it? Then its tomb is due before it is taken out. */
static inline bool book_is_shared(const struct book_block *block)
{
	uint32_t era = __atomic_load_n(&book.header->era, __ATOMIC_ACQUIRE);

	return BOOK_RARELY(era != __atomic_load_n(&book.header->ended_forks, __ATOMIC_RELAXED)) &&
	       ABI_BOOK_ERA(block->is.size_fn) < era;
}
void book_add_tomb(const struct book_block *block);

enum book_origin {
	BOOK_UNKNOWN,	/* no ancestor has had it, or it is not known */
	BOOK_INHERITED, /* its node is one of this process's book */
};
/* A block of before the forks, which the own book does not have. */
enum book_origin book_find_inherited(struct book_thread *thread, uint64_t address,
				     struct book_block *ret_block);
/* Were there any that cannot be known? */
bool book_is_orphan(void);

#endif
