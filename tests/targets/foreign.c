/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign N: N blocks from each of two allocators, each given back to its own, and one of
 * jemalloc's to the C library's free, which may end the program.
 */
#include "tests/targets/target.h"

extern void *_rjem_malloc(size_t size);
extern void _rjem_free(void *block);

static __attribute__((noinline)) void *makes(size_t size)
{
	char *block = _rjem_malloc(size);

	CHECK(block);
	memset(block, 0, size);
	return block;
}

static __attribute__((noinline)) void frees_wrongly(void *block)
{
	free(block);
	__asm__ volatile(""); /* no jump */
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 10);

	for (uint64_t i = 0; i < n; i++) {
		void *theirs = makes(100), *ours = malloc(100);

		_rjem_free(theirs);
		free(ours);
	}
	frees_wrongly(makes(300));
	return 0;
}
