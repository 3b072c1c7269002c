/* SPDX-License-Identifier: GPL-2.0-or-later */
/* million N: makes N live blocks of 16 to 47 bytes, frees every tenth and keeps the rest. */
#include "tests/targets/target.h"

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 1000000), i;
	void **block = malloc(n * sizeof(*block));

	CHECK(block);
	for (i = 0; i < n; i++) {
		block[i] = malloc(16 + i % 32);
		CHECK(block[i]);
	}
	for (i = 0; i < n; i += 10)
		free(block[i]);
	tell("done %llu\n", (unsigned long long)n);
	return 0;
}
