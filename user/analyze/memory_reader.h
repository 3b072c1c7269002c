/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the memory of a stopped process: small pieces by way of pages that are kept (1 MiB), since
 * small blocks lie side by side and each read of a process is a system call. One thread.
 */
#ifndef MEMTRACED_ANALYZE_MEMORY_READER_H
#define MEMTRACED_ANALYZE_MEMORY_READER_H

#include "analyze/reach_types.h"
#include "base/cleanup.h"

#define MEMORY_PAGE 4096U

struct memory_reader;

int memory_reader_new(reach_read_fn read, void *ctx, struct memory_reader **ret_reader);
void memory_reader_free(struct memory_reader *reader);
DEFINE_CLEANUP(struct memory_reader, memory_reader_free)

/* How many bytes from addr on could be copied, `size` at most: up to the first unreadable page. */
size_t memory_reader_copy(struct memory_reader *reader, uint64_t addr, void *buf, size_t size);

/* The word at addr; false: it cannot be read. */
bool memory_reader_word(struct memory_reader *reader, uint64_t addr, uint64_t *ret_word);

#endif
