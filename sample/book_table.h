/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of this process's blocks, which grows, and where their births are kept, if they are
 * (header.wants). For threads that are at the book.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_TABLE_H
#define MEMTRACED_SAMPLE_BOOK_TABLE_H

#include "sample/book_blocks.h"
#include "sample/book_threads.h"

extern struct book_blocks book_table __attribute__((visibility("hidden")));

/* Of a process that begins a book. */
void book_table_begin(void);

/* Makes it larger than `n` buckets, while no other thread is at the book; false: it cannot be. */
bool book_table_grow(struct book_thread *mine, uint64_t n);

/* Of a block that is there. Counted, where it cannot be kept. */
void book_table_put_birth(uint64_t address, const struct book_birth *birth);
/* Before the block is taken out. Nothing is changed where it is not known. */
void book_table_take_birth(uint64_t address, struct book_birth *ret_birth);

#endif
