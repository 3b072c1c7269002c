/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * throwing N: N times exceptions out of pool_get, and what allocates then from the same place, from
 * below and from above. The program says how often pool_get has returned, and how many bytes.
 */
#include "tests/targets/target.h"

static char pool[1 << 20];
static uint64_t calls, bytes;

extern "C" __attribute__((noinline)) void *pool_get(size_t size)
{
	static size_t used;

	if (size == 0)
		throw 1;
	if (used + size > sizeof(pool))
		used = 0;
	used = (used + size + 15) & ~(size_t)15;
	calls++;
	bytes += size;
	return pool + used - ((size + 15) & ~(size_t)15);
}

static __attribute__((noinline)) void *seen(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static __attribute__((noinline)) void *below(unsigned frames, size_t size)
{
	char room[512];

	__asm__ volatile("" : : "r"(room) : "memory");
	return seen(frames ? below(frames - 1, size) : pool_get(size));
}

static __attribute__((noinline)) void *calls_it(size_t size)
{
	return seen(pool_get(size));
}

static __attribute__((noinline)) void leave(unsigned frames)
{
	try {
		below(frames, 0);
	} catch (int) {
		return;
	}
	CHECK(false);
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 10);

	for (uint64_t i = 0; i < n; i++) {
		leave(2);
		below(5, 100);
		below(0, 101);
		try {
			seen(pool_get(0));
			CHECK(false);
		} catch (int) {
			calls_it(102); /* with the stack pointer that pool_get had */
			seen(pool_get(103));
		}
		leave(0);
		seen(pool_get(104));
	}
	tell("%llu calls, %llu bytes\n", (unsigned long long)calls, (unsigned long long)bytes);
	return 0;
}
