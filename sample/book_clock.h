/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock of the book: CLOCK_MONOTONIC, or the coarse one of the kernel's timer (1 to 10 ms),
 * which takes 2 ns in place of 20. It is read in the process: what the daemon writes comes late
 * where it is not scheduled. It is the vDSO's own, since a library may stand before the C
 * library's and tell another time (libfaketime does).
 */
#ifndef MEMTRACED_SAMPLE_BOOK_CLOCK_H
#define MEMTRACED_SAMPLE_BOOK_CLOCK_H

#include "sample/book_memory.h"

#include <time.h>

/* Asks the dynamic linker for it; until then it is the C library's. */
void book_clock_find(void);

/* Before system calls are filtered: from now on it is read without one. */
void book_clock_without_calls(void);

extern int (*book_clock_read)(clockid_t clock, struct timespec *ret_time)
	__attribute__((visibility("hidden")));

static inline uint64_t book_clock_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	(void)book_clock_read(clock, &now); /* the kernel has both */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC, of what is seldom. */
static inline uint64_t book_now_ns(void)
{
	return book_clock_ns(CLOCK_MONOTONIC);
}

/* Of a call: as exact as is wanted (header.wants). */
static inline uint64_t book_call_ns(uint32_t wanted)
{
	const uint32_t exact = ABI_BOOK_CLOCK | ABI_BOOK_FREES;

	return book_clock_ns(BOOK_RARELY(wanted & exact) ? CLOCK_MONOTONIC :
							   CLOCK_MONOTONIC_COARSE);
}

/* abi_book_block.tick */
static inline uint32_t book_tick(uint64_t now_ns)
{
	uint32_t own = (uint32_t)(now_ns / ABI_TICK_NS);
	uint32_t told = __atomic_load_n(&book.header->tick, __ATOMIC_RELAXED);

	return (int32_t)(told - own) > 0 ? told : own;
}

#endif
