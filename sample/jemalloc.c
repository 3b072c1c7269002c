/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that jemalloc has beside C's: a block of malloc may be freed by these, and the
 * other way round. Programs ask for them as weak symbols, and take a jemalloc to be there where one
 * is found, as it is here: where there is none, they do what they say by C's functions, ours, which
 * count.
 */
#include "sample/exact.h"
#include "sample/next.h"
#include "sample/process.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* jemalloc.h: MALLOCX_LG_ALIGN and MALLOCX_ZERO; caches and arenas are jemalloc's own affair. */
#define LG_ALIGN_MASK 0x3f
#define ZERO 0x40

/* 0: any that malloc has. */
static size_t alignment_of(int flags)
{
	size_t alignment = (size_t)1 << (flags & LG_ALIGN_MASK);

	return alignment > _Alignof(max_align_t) ? alignment : 0;
}

static void *make(size_t size, int flags)
{
	size_t alignment = alignment_of(flags);
	void *block;

	if (!alignment)
		return flags & ZERO ? calloc(1, size) : malloc(size);
	if (posix_memalign(&block, alignment, size))
		return NULL;
	return flags & ZERO ? memset(block, 0, size) : block;
}

static size_t usable_size(void *block)
{
	size_t (*function)(void *) = next_find(NEXT_MALLOC_USABLE_SIZE);

	return function ? function(block) : 0;
}

static void *make_again(void *block, size_t size, int flags)
{
	size_t was;
	void *other;

	if (!alignment_of(flags) && !(flags & ZERO))
		return realloc(block, size);
	was = usable_size(block);
	other = was ? make(size, flags) : NULL; /* else what it holds cannot be kept */
	if (!other)
		return NULL;
	memcpy(other, block, was < size ? was : size);
	free(block);
	return other;
}

SAMPLE_EXPORT void *mallocx(size_t size, int flags);
SAMPLE_EXPORT void *mallocx(size_t size, int flags)
{
	void *(*function)(size_t, int) = next_find(NEXT_MALLOCX);
	struct exact_call call = EXACT_CALL();
	bool exact;
	void *block;

	if (!function)
		return make(size, flags);
	exact = exact_is_on() && exact_begin(&call);
	block = function(size, flags);
	if (exact)
		exact_end(block, size, ABI_BOOK_MALLOCX, &call);
	else if (!sample_pass(size))
		sample_allocated(block, size);
	return block;
}

SAMPLE_EXPORT void *rallocx(void *block, size_t size, int flags);
SAMPLE_EXPORT void *rallocx(void *block, size_t size, int flags)
{
	void *(*function)(void *, size_t, int) = next_find(NEXT_RALLOCX);
	struct exact_call call = EXACT_CALL();
	struct exact_replaced old;
	struct sampled_entry was;
	bool sampled;
	void *other;

	if (!function)
		return make_again(block, size, flags);
	if (exact_is_on() && exact_begin(&call)) {
		exact_replace(block, size, ABI_BOOK_RALLOCX, &call, &old);
		other = function(block, size, flags);
		exact_replaced(&old, other, size, ABI_BOOK_RALLOCX, &call);
		return other;
	}
	sampled = sample_may_have(block) && sample_find(block, &was);
	other = function(block, size, flags);
	if (other && sampled)
		sample_ended(block, &was);
	if (other && !sample_pass(size))
		sample_allocated(other, size);
	return other;
}

/* In place: the block counts anew, with as much of what was asked for as is there. */
SAMPLE_EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags);
SAMPLE_EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags)
{
	size_t (*function)(void *, size_t, size_t, int) = next_find(NEXT_XALLOCX);
	struct exact_call call = EXACT_CALL();
	struct exact_replaced old;
	size_t real, got;

	if (!function)
		return usable_size(block); /* nothing is moved, and nothing grows */
	if (exact_is_on() && exact_begin(&call)) {
		exact_replace(block, size, ABI_BOOK_XALLOCX, &call, &old);
		real = function(block, size, extra, flags);
		got = real - size < extra ? real : size + extra;
		exact_replaced(&old, real < size ? NULL : block, got, ABI_BOOK_XALLOCX, &call);
		return real;
	}
	real = function(block, size, extra, flags);
	if (real < size)
		return real;
	got = real - size < extra ? real : size + extra;
	if (sample_may_have(block))
		(void)sample_forget(block); /* told there, if it was sampled */
	if (!sample_pass(got))
		sample_allocated(block, got);
	return real;
}

SAMPLE_EXPORT void dallocx(void *block, int flags);
SAMPLE_EXPORT void dallocx(void *block, int flags)
{
	void (*function)(void *, int) = next_find(NEXT_DALLOCX);
	struct exact_call call = EXACT_CALL();

	if (!function) {
		free(block);
		return;
	}
	if (exact_is_on())
		exact_free(block, ABI_BOOK_DALLOCX, &call.from);
	else if (sample_may_have(block))
		(void)sample_forget(block); /* told there, if it was sampled */
	function(block, flags);
}

SAMPLE_EXPORT void sdallocx(void *block, size_t size, int flags);
SAMPLE_EXPORT void sdallocx(void *block, size_t size, int flags)
{
	void (*function)(void *, size_t, int) = next_find(NEXT_SDALLOCX);
	struct exact_call call = EXACT_CALL();

	if (!function) {
		free(block);
		return;
	}
	if (exact_is_on())
		exact_free(block, ABI_BOOK_SDALLOCX, &call.from);
	else if (sample_may_have(block))
		(void)sample_forget(block); /* as above */
	function(block, size, flags);
}
