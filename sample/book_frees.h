/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is kept of each free where the daemon asks for it, as bpf/free_pair.bpf.h and
 * bpf/heap_error.bpf.h do: pairs of where blocks were made and freed (ABI_BOOK_FREES), and where
 * the newest were freed, for who frees one once more (ABI_BOOK_ERRORS).
 */
#ifndef MEMTRACED_SAMPLE_BOOK_FREES_H
#define MEMTRACED_SAMPLE_BOOK_FREES_H

#include "sample/book_blocks.h"
#include "sample/book_threads.h"

/* Of a process that begins a book. */
void book_frees_begin(void);

/* By which function, and where (ABI_BOOK_NO_NODE: not known), at which time of the book's clock. */
struct book_free {
	uint32_t function, node;
	uint64_t now_ns;
};

/* birth: its time is 0 where it is not known, as of an inherited block. */
void book_pair_add(struct book_thread *thread, const struct book_block *block,
		   const struct book_birth *birth, const struct book_free *by);

void book_freed_add(const struct book_block *block, const struct book_free *by);
/* The newest free of the address among those that are remembered; false: it is none of them. */
bool book_freed_find(uint64_t address, struct book_block *ret_block, struct book_free *ret_by);

#endif
