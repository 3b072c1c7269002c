/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * segments N: its data segment grows by N pages, twice, and shrinks by half of one; a brk() that
 * the kernel refuses changes nothing. Prints what is left of what grow() got: "brk_live BYTES".
 */
#include "tests/targets/target.h"

#include <sys/resource.h>

#define PAGE 4096UL

static __attribute__((noinline)) void grow(size_t bytes)
{
	CHECK(sbrk((intptr_t)bytes) != (void *)-1);
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 256) * PAGE;
	const struct rlimit none = { 0, 0 };

	grow(n);
	grow(n);
	CHECK(sbrk(-(intptr_t)(n / 2)) != (void *)-1);
	CHECK(setrlimit(RLIMIT_DATA, &none) == 0);
	CHECK(sbrk((intptr_t)n) == (void *)-1);
	tell("brk_live %llu\n", (unsigned long long)(2 * n - n / 2));
	return 0;
}
