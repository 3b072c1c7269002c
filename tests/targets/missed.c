/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * missed N: gives the memory of N blocks back to the kernel by munmap, behind the allocator's back,
 * and gets the same address again from its next malloc. No allocator function has freed the block,
 * so nobody who watches them can have seen that it went. Blocks above malloc's mmap threshold are
 * mappings of their own: a header of two words, then the block (glibc, malloc/malloc.c).
 */
#include "tests/targets/target.h"

#include <malloc.h>
#include <sys/mman.h>

#define SIZE (1 << 20)
#define HEADER (2 * sizeof(size_t))

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 10), i;
	size_t usable;
	char *block, *again;

	for (i = 0; i < n; i++) {
		block = malloc(SIZE);
		CHECK(block);
		usable = malloc_usable_size(block);
		CHECK(munmap(block - HEADER, usable + HEADER) == 0);
		again = malloc(SIZE);
		CHECK(again == block);
	}
	tell("done %llu\n", (unsigned long long)n);
	return 0;
}
