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

/* One that fails leaves the old block, of which nothing is told then. */
static void *realloc_known(void *block, size_t size)
{
	struct sampled_entry was;
	void *other;
	bool sampled = sample_find(block, &was);

	if (!sampled && next_first_block_size(block))
		return next_copy_first_block(block, malloc(size), size);
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

/* Without a next function of its name an allocation fails, as one without memory. */
static void *no_function(void)
{
	errno = ENOMEM;
	return NULL;
}

/* The C library's calls realloc, ours: passed on, it would count twice. It may fail. */
SAMPLE_EXPORT void *reallocarray(void *block, size_t n, size_t size)
{
	struct exact_call call = EXACT_CALL();
	bool exact = exact_is_on() && exact_begin(&call);
	void *(*function)(void *, size_t, size_t);
	size_t total;

	if (__builtin_mul_overflow(n, size, &total)) {
		function = next_find(NEXT_REALLOCARRAY);
		block = function ? function(block, n, size) : no_function();
		if (exact)
			exact_end(block, SIZE_MAX, ABI_BOOK_REALLOCARRAY, &call);
		return block;
	}
	return exact ? exact_reallocate(block, total, ABI_BOOK_REALLOCARRAY, &call) :
		       realloc(block, total);
}

/* The body of one function: no frame of it is between the program's and the next allocator's. */
#define ONE_BODY inline __attribute__((always_inline))

static ONE_BODY void *by_next(enum next_name name, enum abi_book_function function,
			      size_t alignment, size_t size, struct exact_call *call)
{
	bool is_aligned = name == NEXT_MEMALIGN || name == NEXT_ALIGNED_ALLOC;
	uint64_t mark = sample_mark();
	void *next_function = next_find(name), *block;
	bool exact = exact_is_on() && exact_begin(call);

	if (!next_function)
		block = no_function();
	else if (is_aligned)
		block = ((void *(*)(size_t, size_t))next_function)(alignment, size);
	else
		block = ((void *(*)(size_t))next_function)(size);
	if (exact)
		exact_end(block, size, function, call);
	else
		sample_returned(block, size, mark);
	return block;
}

SAMPLE_EXPORT void *memalign(size_t alignment, size_t size)
{
	struct exact_call call = EXACT_CALL();

	return by_next(NEXT_MEMALIGN, ABI_BOOK_MEMALIGN, alignment, size, &call);
}

SAMPLE_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	struct exact_call call = EXACT_CALL();

	return by_next(NEXT_ALIGNED_ALLOC, ABI_BOOK_ALIGNED_ALLOC, alignment, size, &call);
}

SAMPLE_EXPORT void *valloc(size_t size)
{
	struct exact_call call = EXACT_CALL();

	return by_next(NEXT_VALLOC, ABI_BOOK_VALLOC, 0, size, &call);
}

SAMPLE_EXPORT void *pvalloc(size_t size)
{
	struct exact_call call = EXACT_CALL();

	return by_next(NEXT_PVALLOC, ABI_BOOK_PVALLOC, 0, size, &call);
}

SAMPLE_EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	uint64_t mark = sample_mark();
	int (*function)(void **, size_t, size_t) = next_find(NEXT_POSIX_MEMALIGN);
	struct exact_call call = EXACT_CALL();
	bool exact = exact_is_on() && exact_begin(&call);
	int r = function ? function(ret_block, alignment, size) : ENOMEM;

	if (exact)
		exact_end(r == 0 ? *ret_block : NULL, size, ABI_BOOK_POSIX_MEMALIGN, &call);
	else if (r == 0)
		sample_returned(*ret_block, size, mark);
	return r;
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

/*
 * glibc's other names, by which programs reach its allocator past the usual ones. They are ours
 * where the usual names mean glibc's functions. Where another allocator stands between us and
 * glibc, or in the program itself, it may be what calls them: passed on.
 */
#define BY_LIBCS_NAME(type, name, id, parameters, arguments)                                       \
	extern __typeof(name) own_##name                                                           \
		__attribute__((alias(#name), visibility("hidden"), copy(name)));                   \
	SAMPLE_EXPORT type libc_##name parameters __asm__("__libc_" #name);                        \
	SAMPLE_EXPORT type libc_##name parameters                                                  \
	{                                                                                          \
		type(*function) parameters = next_find(NEXT_LIBC_##id);                            \
                                                                                                   \
		if ((void *)function == next_find(NEXT_##id))                                      \
			function = own_##name;                                                     \
		return function arguments;                                                         \
	}

BY_LIBCS_NAME(void *, malloc, MALLOC, (size_t size), (size))
BY_LIBCS_NAME(void *, calloc, CALLOC, (size_t n, size_t size), (n, size))
BY_LIBCS_NAME(void *, realloc, REALLOC, (void *block, size_t size), (block, size))
BY_LIBCS_NAME(void, free, FREE, (void *block), (block))
BY_LIBCS_NAME(void *, memalign, MEMALIGN, (size_t alignment, size_t size), (alignment, size))
BY_LIBCS_NAME(void *, valloc, VALLOC, (size_t size), (size))
BY_LIBCS_NAME(void *, pvalloc, PVALLOC, (size_t size), (size))
