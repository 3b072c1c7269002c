/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one call of the program's changes in the book. All keep errno. `function`: enum
 * abi_book_function. from: the registers of the caller.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_CALLS_H
#define MEMTRACED_SAMPLE_BOOK_CALLS_H

#include "sample/book.h"

void book_enter(void *block, size_t size, uint32_t function, const struct walk_registers *from);
/* The same where it replaces one that was taken out, whose end is counted. */
void book_replace(const struct book_taken *old, void *block, size_t size, uint32_t function,
		  const struct walk_registers *from);
/*
 * Before the block is freed: it leaves the book. A free of what is in none is counted, and an error
 * where that is sure.
 */
void book_free(void *block, uint32_t function, const struct walk_registers *from);
/*
 * The same where it is not sure that it will be freed: one of the next two follows. False: it is in
 * no book.
 */
bool book_take(void *block, struct book_taken *ret_taken);
void book_freed(const struct book_taken *taken, uint32_t function,
		const struct walk_registers *from);
/* It was not freed after all. */
void book_put_back(const struct book_taken *taken);
/* A free of what is in no book. */
void book_unknown_free(void *block, uint32_t function, const struct walk_registers *from);
/*
 * Around a call that an exception may leave, which then has failed: it has begun, has returned, was
 * found to be left, or has returned after that.
 */
void book_may_fail(void);
void book_may_fail_no_more(void);
void book_was_left(void);
void book_was_not_left(void);
/* An allocation has given nothing. from: NULL: that is counted alone. */
void book_failed(size_t size, uint32_t function, const struct walk_registers *from);
/* What is wrong about a request: enum abi_heap_error_kind. replaced: NULL is legal. */
void book_wrong_request(uint32_t kind, void *replaced, size_t size, uint32_t function,
			const struct walk_registers *from);

/*
 * A function of C++'s begins that only calls or jumps to one of C's, which is counted: by which
 * form (enum abi_form). To be told where book_looks_at_forms(), with the registers of its caller.
 */
static inline bool book_looks_at_forms(void)
{
	return BOOK_RARELY(book_wants() & ABI_BOOK_ERRORS);
}
void book_mark(uint32_t form, enum book_form_of which, const struct walk_registers *from);
/* A free has ended whose mark is done with, although it has freed nothing that is known. */
void book_freed_nothing(const struct walk_registers *from);

/* Does the call go on from which this caller seems to have come? Counted, where it is not known. */
enum walk_meeting book_find_call(const struct book_call *call, const struct walk_registers *from);

#endif
