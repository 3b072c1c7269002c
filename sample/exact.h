/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact depth: each call of the allocator is entered in the book (sample/book.h). The library does
 * either this or samples, by what is in the environment when it is first called: with
 * MEMTRACED_EXACT=1 this, where it can.
 */
#ifndef MEMTRACED_SAMPLE_EXACT_H
#define MEMTRACED_SAMPLE_EXACT_H

#include "bpf/abi_book.h"
#include "sample/book.h"
#include "sample/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first bytes of malloc(), free() and others compare with these numbers. */
enum exact_mode { EXACT_UNKNOWN = 0, EXACT_OFF = 1, EXACT_ON = 2 };
extern uint8_t exact_mode __attribute__((visibility("hidden")));

/* Does it keep a book? Decides it, if it is not decided. */
bool exact_decide(void);

static inline bool exact_is_on(void)
{
	if (exact_mode == EXACT_OFF)
		return false;
	return exact_mode == EXACT_ON || exact_decide();
}

/*
 * The registers of the function's caller, in a function that then has a frame pointer; rbx, which a
 * walk needs through the dynamic linker's resolver alone, is not known.
 */
#define EXACT_CALLER()                                                                             \
	({                                                                                         \
		const uint64_t *frame_ = __builtin_frame_address(0);                               \
		(struct walk_registers){ .bp = frame_[0],                                          \
					 .pc = frame_[1],                                          \
					 .sp = (uintptr_t)(frame_ + 2) };                          \
	})

/*
 * Around a call of the next allocator's: what it calls of ours is not the program's. False: this
 * call is such a one itself.
 */
bool exact_begin(void);
/* block: what it gave; NULL: it has failed. */
void exact_end(void *block, size_t size, enum abi_book_function function,
	       const struct walk_registers *from);

/* Before a block goes. */
void exact_free(void *block);

#endif
