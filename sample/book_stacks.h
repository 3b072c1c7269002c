/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks as nodes of one tree of the process, so that what they have in common is there once. */
#ifndef MEMTRACED_SAMPLE_BOOK_STACKS_H
#define MEMTRACED_SAMPLE_BOOK_STACKS_H

#include "sample/book_threads.h"

/* The node of the caller's stack; ABI_BOOK_NO_NODE (counted): there is no room. */
uint32_t book_stack(struct book_thread *thread, const struct walk_registers *from);

/* The same stack as a node of another process's, whose nodes these are. */
uint32_t book_stack_of(struct book_thread *thread, const struct abi_book_node *nodes,
		       uint32_t node);

/* Before the first one of a process: what another process had is its parent's. */
void book_stacks_begin(void);

/* Code is gone, which stacks of before may have been in. */
void book_note_gone(uint64_t start, uint64_t end);

#endif
