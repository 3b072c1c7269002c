/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * static N: every common heap call, N times; linked statically, with its symbols and without.
 */
#include "tests/targets/target.h"

#include <malloc.h>

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 1000), i;

	for (i = 0; i < n; i++) {
		char *block = malloc(100 + i % 50), *other = calloc(3, 30), *aligned;

		CHECK(block && other);
		block = realloc(block, 400 + i % 50);
		aligned = memalign(64, 200);
		CHECK(block && aligned);
		free(other);
		free(aligned);
		if (i % 2)
			free(block);
	}
	tell("done %llu\n", (unsigned long long)n);
	return 0;
}
