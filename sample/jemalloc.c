/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that jemalloc has beside C's: a block of malloc may be freed by these, and the
 * other way round. Where jemalloc is not the allocator nobody calls them; asked all the same, they
 * free, and have no memory to give.
 */
#include "sample/next.h"
#include "sample/process.h"

#include <stdlib.h>

SAMPLE_EXPORT void *mallocx(size_t size, int flags);
SAMPLE_EXPORT void *mallocx(size_t size, int flags)
{
	static void *place;
	void *(*function)(size_t, int) = next_find(&place, "mallocx");
	void *block = function ? function(size, flags) : NULL;

	if (!sample_pass(size))
		sample_allocated(block, size);
	return block;
}

SAMPLE_EXPORT void *rallocx(void *block, size_t size, int flags);
SAMPLE_EXPORT void *rallocx(void *block, size_t size, int flags)
{
	static void *place;
	void *(*function)(void *, size_t, int) = next_find(&place, "rallocx");
	struct sampled_block was;
	bool sampled;
	void *other;

	if (!function)
		return NULL;
	sampled = sample_may_have(block) && sample_forget(block, &was);
	other = function(block, size, flags);
	if (!other && sampled)
		sample_restore(block, &was);
	if (other && !sample_pass(size))
		sample_allocated(other, size);
	return other;
}

/* In place: the block counts anew, with as much of what was asked for as is there. */
SAMPLE_EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags);
SAMPLE_EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags)
{
	static void *place;
	size_t (*function)(void *, size_t, size_t, int) = next_find(&place, "xallocx");
	struct sampled_block was;
	size_t real, got;

	if (!function)
		return 0;
	real = function(block, size, extra, flags);
	if (real < size)
		return real;
	got = real - size < extra ? real : size + extra;
	if (sample_may_have(block))
		(void)sample_forget(block, &was); /* told there, if it was sampled */
	if (!sample_pass(got))
		sample_allocated(block, got);
	return real;
}

SAMPLE_EXPORT void dallocx(void *block, int flags);
SAMPLE_EXPORT void dallocx(void *block, int flags)
{
	static void *place;
	void (*function)(void *, int) = next_find(&place, "dallocx");
	struct sampled_block what;

	if (!function) {
		free(block);
		return;
	}
	if (sample_may_have(block))
		(void)sample_forget(block, &what); /* told there, if it was sampled */
	function(block, flags);
}

SAMPLE_EXPORT void sdallocx(void *block, size_t size, int flags);
SAMPLE_EXPORT void sdallocx(void *block, size_t size, int flags)
{
	static void *place;
	void (*function)(void *, size_t, int) = next_find(&place, "sdallocx");
	struct sampled_block what;

	if (!function) {
		free(block);
		return;
	}
	if (sample_may_have(block))
		(void)sample_forget(block, &what); /* as above */
	function(block, size, flags);
}
