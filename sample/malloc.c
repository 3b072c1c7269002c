/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C's allocation functions as the program calls them. A block without samples costs the countdown,
 * and a jump to the next allocator's function: no frame, no call. realloc is the end of one block
 * and an allocation of the other, of all its bytes, as exact tracing counts it.
 */
#include "sample/exact.h"
#include "sample/next.h"
#include "sample/process.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

SAMPLE_EXPORT SAMPLE_HOT void *malloc(size_t size)
{
	void *block;

	if (SAMPLE_RARELY(exact_is_on()))
		return exact_malloc(size);
	if (sample_pass(size))
		return next.malloc(size);
	block = next.malloc(size);
	sample_allocated(block, size);
	return block;
}

SAMPLE_EXPORT SAMPLE_HOT void *calloc(size_t n, size_t size)
{
	uint64_t mark;
	void *block;

	if (SAMPLE_RARELY(exact_is_on()))
		return exact_calloc(n, size);
	mark = sample_mark();
	block = next.calloc(n, size);
	if (block)
		sample_returned(block, n * size, mark);
	return block;
}

/* True: it was none of the next allocator's. */
static bool first_block_ends(void *block)
{
	return !sample_forget(block) && next_first_block_size(block);
}

static SAMPLE_SELDOM void free_known(void *block)
{
	if (!first_block_ends(block))
		next.free(block);
}

SAMPLE_EXPORT SAMPLE_HOT void free(void *block)
{
	if (SAMPLE_RARELY(exact_is_on())) {
		exact_free_of(block);
		return;
	}
	if (sample_may_have(block))
		free_known(block);
	else
		next.free(block);
}

static void *first_block_grows(void *block, size_t size)
{
	size_t was = next_first_block_size(block);
	void *other = malloc(size);

	return other ? memcpy(other, block, was < size ? was : size) : NULL;
}

/* One that fails leaves the old block, of which nothing is told then. */
static void *realloc_known(void *block, size_t size)
{
	struct sampled_entry was;
	void *other;
	bool sampled = sample_find(block, &was);

	if (!sampled && next_first_block_size(block))
		return first_block_grows(block, size);
	other = next.realloc(block, size);
	if (sampled && (other || size == 0))
		sample_ended(block, &was);
	if (other && !sample_pass(size))
		sample_allocated(other, size);
	return other;
}

SAMPLE_EXPORT SAMPLE_HOT void *realloc(void *block, size_t size)
{
	void *other;

	if (SAMPLE_RARELY(exact_is_on()))
		return exact_realloc(block, size);
	if (sample_may_have(block))
		return realloc_known(block, size);
	if (sample_pass(size))
		return next.realloc(block, size);
	other = next.realloc(block, size);
	sample_allocated(other, size);
	return other;
}

/* The C library's calls realloc, ours: passed on, it would count twice. */
SAMPLE_EXPORT void *reallocarray(void *block, size_t n, size_t size)
{
	const struct walk_registers caller = EXACT_CALLER();
	bool overflows, exact = exact_is_on() && exact_begin();
	size_t total;

	overflows = __builtin_mul_overflow(n, size, &total);
	if (exact && !overflows)
		return exact_reallocate(block, total, ABI_BOOK_REALLOCARRAY, &caller);
	if (exact)
		exact_overflows(block, ABI_BOOK_REALLOCARRAY, &caller);
	if (overflows) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, total);
}

/* Without a next function of its name an allocation fails, as one without memory. */
static void *no_function(void)
{
	errno = ENOMEM;
	return NULL;
}

SAMPLE_EXPORT void *memalign(size_t alignment, size_t size)
{
	uint64_t mark = sample_mark();
	void *(*function)(size_t, size_t) = next_find(NEXT_MEMALIGN);
	const struct walk_registers caller = EXACT_CALLER();
	bool exact = exact_is_on() && exact_begin();
	void *block = function ? function(alignment, size) : no_function();

	if (exact)
		exact_end(block, size, ABI_BOOK_MEMALIGN, &caller);
	else
		sample_returned(block, size, mark);
	return block;
}

SAMPLE_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	uint64_t mark = sample_mark();
	void *(*function)(size_t, size_t) = next_find(NEXT_ALIGNED_ALLOC);
	const struct walk_registers caller = EXACT_CALLER();
	bool exact = exact_is_on() && exact_begin();
	void *block = function ? function(alignment, size) : no_function();

	if (exact)
		exact_end(block, size, ABI_BOOK_ALIGNED_ALLOC, &caller);
	else
		sample_returned(block, size, mark);
	return block;
}

SAMPLE_EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	uint64_t mark = sample_mark();
	int (*function)(void **, size_t, size_t) = next_find(NEXT_POSIX_MEMALIGN);
	const struct walk_registers caller = EXACT_CALLER();
	bool exact = exact_is_on() && exact_begin();
	int r = function ? function(ret_block, alignment, size) : ENOMEM;

	if (exact)
		exact_end(r == 0 ? *ret_block : NULL, size, ABI_BOOK_POSIX_MEMALIGN, &caller);
	else if (r == 0)
		sample_returned(*ret_block, size, mark);
	return r;
}

SAMPLE_EXPORT void *valloc(size_t size)
{
	uint64_t mark = sample_mark();
	void *(*function)(size_t) = next_find(NEXT_VALLOC);
	const struct walk_registers caller = EXACT_CALLER();
	bool exact = exact_is_on() && exact_begin();
	void *block = function ? function(size) : no_function();

	if (exact)
		exact_end(block, size, ABI_BOOK_VALLOC, &caller);
	else
		sample_returned(block, size, mark);
	return block;
}

SAMPLE_EXPORT void *pvalloc(size_t size)
{
	uint64_t mark = sample_mark();
	void *(*function)(size_t) = next_find(NEXT_PVALLOC);
	const struct walk_registers caller = EXACT_CALLER();
	bool exact = exact_is_on() && exact_begin();
	void *block = function ? function(size) : no_function();

	if (exact)
		exact_end(block, size, ABI_BOOK_PVALLOC, &caller);
	else
		sample_returned(block, size, mark);
	return block;
}

/* What programs of before glibc 2.26 may call. */
SAMPLE_EXPORT void cfree(void *block);
SAMPLE_EXPORT void cfree(void *block)
{
	free(block);
}

/* C23's, which an older C library does not have. */
SAMPLE_EXPORT void free_sized(void *block, size_t size);
SAMPLE_EXPORT void free_sized(void *block, size_t size)
{
	(void)size;
	free(block);
}

SAMPLE_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);
SAMPLE_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free(block);
}
