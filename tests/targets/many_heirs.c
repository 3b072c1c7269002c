/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates 16 bytes on each of 2^N paths through two functions, then forks CHILDREN that wait:
 * each of them inherits all these sites. Says "ready" before, and "forked" afterwards.
 */
#include "tests/targets/target.h"

#include <signal.h>
#include <sys/prctl.h>

static void *left(uint64_t path, uint64_t n);
static void *right(uint64_t path, uint64_t n);

static __attribute__((noinline)) void *go_on(uint64_t path, uint64_t n)
{
	void *block = n == 0   ? malloc(16) :
		      path & 1 ? left(path >> 1, n - 1) :
				 right(path >> 1, n - 1);

	__asm__ volatile("" : : "r"(block)); /* no tail call */
	return block;
}

static __attribute__((noinline)) void *left(uint64_t path, uint64_t n)
{
	void *block = go_on(path, n);

	__asm__ volatile("" : : "r"(block));
	return block;
}

static __attribute__((noinline)) void *right(uint64_t path, uint64_t n)
{
	void *block = go_on(path, n);

	__asm__ volatile("nop" : : "r"(block)); /* not the same as left() */
	return block;
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 4), children = argument(argc, argv, 2, 1);

	free(malloc(opaque(16))); /* a library that counts begins here */
	tell("ready\n");
	wait_for_line();
	for (uint64_t path = 0; path < 1ULL << n; path++)
		CHECK(go_on(path, n));
	for (uint64_t i = 0; i < children; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
	tell("forked\n");
	wait_for_line();
	return 0;
}
