/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact depth: each call of the allocator is entered in the book (sample/book.h). The library does
 * either this or samples, by what is in the environment when it is first called: with
 * MEMTRACED_EXACT=1 this, where it can, while somebody reads it; with MEMTRACED_EXACT=keep also
 * when nobody does.
 */
#ifndef MEMTRACED_SAMPLE_EXACT_H
#define MEMTRACED_SAMPLE_EXACT_H

#include "bpf/abi_book.h"
#include "bpf/abi_heap_error.h"
#include "sample/book.h"
#include "sample/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* There is no book yet, or there is none for good: then calls are passed on from now on. */
bool exact_has_no_book(void);

/* Of this library itself, or made while there is no book. */
static inline bool exact_is_not_counted(void)
{
	return SAMPLE_RARELY(sample_thread.busy) ||
	       (SAMPLE_RARELY(book_process->state != BOOK_KEPT) && exact_has_no_book());
}

/*
 * Around a call of the next allocator's: what it calls of ours is not the program's. False: this
 * call is such a one itself.
 */
static inline bool exact_begin(void)
{
	if (book_local.inside || exact_is_not_counted())
		return false;
	book_local.inside = 1;
	return true;
}

/* It has given nothing: what is wrong about that. */
void exact_failed(void *replaced, size_t size, enum abi_book_function function,
		  const struct walk_registers *from);

/* A request for more than half of all addresses, which no allocator has. */
static inline bool exact_is_suspicious(size_t size)
{
	return (ptrdiff_t)size < 0;
}

/* block: what it gave; NULL: it has failed. */
static inline void exact_end(void *block, size_t size, enum abi_book_function function,
			     const struct walk_registers *from)
{
	book_local.inside = 0;
	if (block)
		book_enter(block, size, function, from);
	else
		exact_failed(NULL, size, function, from);
}

/*
 * The same around a call that replaces a block, or resizes it: before it, between exact_begin() and
 * exact_replaced(), which is told what there is now; NULL: it has failed, and the old one stays.
 */
struct exact_replaced {
	void *block;
	struct book_taken taken;
	bool is_known, is_unknown;
};
void exact_replace(void *block, struct exact_replaced *ret_old);
void exact_replaced(const struct exact_replaced *old, void *block, size_t size,
		    enum abi_book_function function, const struct walk_registers *from);
/* It was freed, and nothing took its place. */
void exact_replaced_by_none(const struct exact_replaced *old, enum abi_book_function function,
			    const struct walk_registers *from);

/* realloc(block, size) by the function that the program has called. */
void *exact_reallocate(void *block, size_t size, enum abi_book_function function,
		       const struct walk_registers *from);

/* The same where the product of what was asked for is too large: nothing is called. */
void exact_overflows(void *block, enum abi_book_function function,
		     const struct walk_registers *from);

/*
 * The same around an operator new of an allocator's, which may end by an exception that nobody
 * sees, and may call malloc() by name, which then has counted.
 */
bool exact_begins_throwing(void);
void exact_has_not_thrown(void *block, size_t size, uint64_t mark,
			  const struct walk_registers *from);

/* Before a block goes. */
void exact_free(void *block, const struct walk_registers *from);

/*
 * What malloc() and the others jump to at exact depth, as their last step: so these have the
 * registers of the program that has called them.
 */
void *exact_malloc(size_t size);
void *exact_calloc(size_t n, size_t size);
void *exact_realloc(void *block, size_t size);
void exact_free_of(void *block);

#endif
