/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The USDT probe memtraced:book of our library, by which a process says that it keeps a book of its
 * own (bpf/abi_book.h): where it is. The file is ours, so that it is read here.
 */
#ifndef MEMTRACED_PROBE_BOOK_PROBE_H
#define MEMTRACED_PROBE_BOOK_PROBE_H

#include "bpf/abi_book.h"
#include "bpf/abi_sample.h"

#include <stdint.h>

struct book_probe {
	uint64_t offset, semaphore_offset;	/* in the file */
	struct abi_usdt_arg args[2];		/* as of memtraced_book() */
	uint64_t functions[ABI_BOOK_FUNCTIONS]; /* where each begins */
};

/* The symbol of a function, from 1 on. */
const char *book_function_name(uint16_t function);

/* Of an open file. 0; -ENOENT: it has no such probe that can be read; or another negative errno. */
int book_probe_find(int fd, struct book_probe *ret_probe);

#endif
