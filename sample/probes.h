/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two probes of OpenTelemetry's contract, otel_memory:alloc and otel_memory:free, and
 * memtraced:book, by which the daemon learns of a book. Each has one place, in a function that does
 * nothing else, and a semaphore that the kernel counts up while somebody listens
 * (Documentation/trace/uprobetracer.rst, ref_ctr_offset).
 */
#ifndef MEMTRACED_SAMPLE_PROBES_H
#define MEMTRACED_SAMPLE_PROBES_H

#include <stdbool.h>
#include <stdint.h>

extern unsigned short otel_memory_alloc_semaphore;
extern unsigned short otel_memory_free_semaphore;
extern unsigned short memtraced_book_semaphore;

static inline bool probe_alloc_is_heard(void)
{
	return *(volatile unsigned short *)&otel_memory_alloc_semaphore != 0;
}

static inline bool probe_free_is_heard(void)
{
	return *(volatile unsigned short *)&otel_memory_free_semaphore != 0;
}

static inline bool probe_book_is_heard(void)
{
	return *(volatile unsigned short *)&memtraced_book_semaphore != 0;
}

/* A book's file and its size; or enum abi_book_says, and an address. */
void memtraced_book(int64_t fd, uint64_t value);

/* Their names are what stacks of samples begin with, so they are exported. */
void memtraced_sampled_alloc(const void *block, uint64_t size, uint64_t weight);
void memtraced_sampled_free(const void *block);

#endif
