/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * weak_jemalloc: asks for jemalloc's functions as programs do that go with any allocator, and uses
 * them where they are found. What they do must be what jemalloc's manual says.
 */
#include "tests/targets/target.h"

#include <stdint.h>

#define LG_ALIGN(n) (n)
#define ZERO 0x40

extern void *mallocx(size_t size, int flags) __attribute__((weak));
extern void *rallocx(void *block, size_t size, int flags) __attribute__((weak));
extern size_t xallocx(void *block, size_t size, size_t extra, int flags) __attribute__((weak));
extern void dallocx(void *block, int flags) __attribute__((weak));
extern void sdallocx(void *block, size_t size, int flags) __attribute__((weak));

static void all_are(const unsigned char *block, size_t from, size_t to, int value)
{
	for (size_t i = from; i < to; i++)
		CHECK(block[i] == value);
}

static void work(int flags, size_t size)
{
	size_t alignment = (size_t)1 << (flags & 0x3f);
	unsigned char *block = mallocx(size, flags);
	size_t more = size * 5 + 3000;

	CHECK(block && (uintptr_t)block % alignment == 0);
	if (flags & ZERO)
		all_are(block, 0, size, 0);
	memset(block, 7, size);
	CHECK(xallocx(block, size, 0, flags) >= size);
	block = rallocx(block, more, flags);
	CHECK(block && (uintptr_t)block % alignment == 0);
	all_are(block, 0, size, 7);
	memset(block, 8, more);
	block = rallocx(block, size / 2 + 1, flags);
	CHECK(block);
	all_are(block, 0, size / 2 + 1, 8);
	if (size % 2)
		dallocx(block, flags);
	else
		sdallocx(block, size / 2 + 1, flags);
}

int main(void)
{
	tell("ready %d\n", (int)getpid());
	if (!mallocx || !rallocx || !xallocx || !dallocx || !sdallocx)
		return 0;
	for (size_t size = 1; size < 3000; size += 7)
		for (int lg = 0; lg <= 12; lg += 3)
			work(LG_ALIGN(lg) | (size % 3 ? 0 : ZERO), size);
	return 0;
}
