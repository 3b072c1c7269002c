/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * branches DEPTH: 2^DEPTH live blocks of 100 bytes, each by another path of calls: at each level
 * left() or right() calls on.
 */
#include "tests/targets/target.h"

static __attribute__((noinline)) void left(uint64_t depth);
static __attribute__((noinline)) void right(uint64_t depth);

static inline __attribute__((always_inline)) void branch(uint64_t depth)
{
	if (depth == 0) {
		CHECK(malloc(100));
		return;
	}
	left(depth - 1);
	right(depth - 1);
}

/* The barriers keep the calls from becoming jumps, and the two functions from becoming one. */
static void left(uint64_t depth)
{
	branch(depth);
	__asm__ volatile("# left" ::: "memory");
}

static void right(uint64_t depth)
{
	branch(depth);
	__asm__ volatile("# right" ::: "memory");
}

int main(int argc, char **argv)
{
	branch(argument(argc, argv, 1, 10));
	return 0;
}
