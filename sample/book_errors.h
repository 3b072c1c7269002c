/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrong uses of the heap, each kept once by its stack with its count, as the BPF programs do
 * (bpf/heap_error.bpf.h). Only what is wrong pays for it.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_ERRORS_H
#define MEMTRACED_SAMPLE_BOOK_ERRORS_H

#include "bpf/abi_heap_error.h"
#include "sample/book_frees.h"

struct book_error {
	enum abi_heap_error_kind kind;
	uint32_t function; /* enum abi_book_function */
	uint32_t node;
	uint32_t tid;
	uint64_t addr, size;
	struct book_block about; /* address 0: not known */
	struct book_free freed;	 /* before; by function 0: not known */
};

/* Of a process that begins a book. */
void book_errors_begin(void);

void book_error_add(const struct book_error *error);

/*
 * What is wrong about the free of an address that no block has; 0: it cannot be said, as not all
 * blocks are known (counted, if this one is not).
 */
uint32_t book_error_of_unknown(const struct book_blocks *blocks, uint64_t address);

/* The block that an address is in which is not its begin; its address is 0 where there is none. */
struct book_block book_block_around(const struct book_blocks *blocks, uint64_t address);

#endif
