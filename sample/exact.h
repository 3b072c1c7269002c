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
#include "sample/book_calls.h"
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

/* A call of the program's: by whom, and within which other one. */
struct exact_call {
	struct walk_registers from;
	struct book_call before;
};

/*
 * Of the function that this is in, which then has a frame pointer; rbx, which a walk needs through
 * the dynamic linker's resolver alone, is not known.
 */
#define EXACT_CALL() ((struct exact_call){ .from = exact_caller(__builtin_frame_address(0)) })

static inline struct walk_registers exact_caller(const uint64_t *frame)
{
	return (struct walk_registers){ .bp = frame[0],
					.pc = frame[1],
					.sp = (uintptr_t)(frame + 2) };
}

/* There is no book yet, or there is none for good: then calls are passed on from now on. */
bool exact_has_no_book(void);

/* Of this library itself, or made while there is no book. */
static inline bool exact_is_not_counted(void)
{
	return SAMPLE_RARELY(sample_thread.busy) ||
	       (SAMPLE_RARELY(book_process->state != BOOK_KEPT) && exact_has_no_book());
}

/*
 * While a call of this thread's seems to be in progress: is this one of the allocator's own, which
 * is a part of it? Not where the other was left (longjmp(3) out of it, an exception of an operator
 * new), or where a handler of a signal has come between; nor is what an operator new has called
 * outside of its allocator: new handlers, and who makes the exception.
 */
bool exact_is_inner(const struct walk_registers *from);

/*
 * Around a call of the next allocator's: what it calls of ours is not the program's. False: this
 * call is such a one itself, or nothing is counted.
 */
static inline bool exact_begin(struct exact_call *call)
{
	struct book_call *inside = &book_local.inside;

	if (exact_is_not_counted() || (SAMPLE_RARELY(inside->sp) && exact_is_inner(&call->from)))
		return false;
	call->before.sp = 0;
	if (SAMPLE_RARELY(inside->sp))
		call->before = *inside;
	inside->sp = call->from.sp;
	inside->pc = call->from.pc;
	inside->throws = NULL;
	inside->has_taken = false;
	return true;
}

static inline void exact_leave(const struct exact_call *call)
{
	book_local.inside.sp = 0;
	if (SAMPLE_RARELY(call->before.sp))
		book_local.inside = call->before;
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
			     const struct exact_call *call)
{
	exact_leave(call);
	if (block)
		book_enter(block, size, function, &call->from);
	else
		exact_failed(NULL, size, function, &call->from);
}

/*
 * The same around a call that replaces a block, or resizes it: before it, between exact_begin() and
 * exact_replaced(), which is told what there is now; NULL: it has failed, and the old one stays.
 */
struct exact_replaced {
	void *block;
	bool is_unknown;
	bool is_mismatched; /* it was made by another form */
};
void exact_replace(void *block, size_t size, enum abi_book_function function,
		   const struct exact_call *call, struct exact_replaced *ret_old);
void exact_replaced(const struct exact_replaced *old, void *block, size_t size,
		    enum abi_book_function function, const struct exact_call *call);

/* realloc(block, size) by the function that the program has called. */
void *exact_reallocate(void *block, size_t size, enum abi_book_function function,
		       const struct exact_call *call);

/*
 * As exact_begin() and exact_end() around an operator new of an allocator's, `next_function`: an
 * exception that nobody sees may leave it.
 */
bool exact_begin_throwing(struct exact_call *call, const void *next_function);
void exact_end_throwing(void *block, size_t size, enum abi_book_function function,
			const struct exact_call *call);

/* Before a block goes, by this function. */
void exact_free(void *block, enum abi_book_function function, const struct walk_registers *from);

/*
 * Where exact_looks_at_forms(): a function of C++'s that only calls or jumps to one of C's begins,
 * by its form (enum abi_form) and __builtin_frame_address(0). It may jump then, as nothing on its
 * stack is ours.
 */
static inline bool exact_looks_at_forms(void)
{
	return exact_is_on() && !exact_is_not_counted() && book_looks_at_forms();
}
/* The usual answer, without a call. False: ask exact_looks_at_forms(). */
static inline bool exact_looks_at_no_forms(void)
{
	return !SAMPLE_RARELY(book_process->state != BOOK_KEPT) && !book_looks_at_forms();
}
void exact_mark(uint32_t form, enum book_form_of which, const uint64_t *frame);

/*
 * What malloc() and the others jump to at exact depth, as their last step: so these have the
 * registers of the program that has called them.
 */
void *exact_malloc(size_t size);
void *exact_calloc(size_t n, size_t size);
void *exact_realloc(void *block, size_t size);
void exact_free_of(void *block);

#endif
