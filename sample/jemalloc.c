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
