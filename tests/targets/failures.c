/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * failures N: calls that fail N times each (calloc whose product overflows, malloc, realloc and
 * reallocarray of the impossible), calls that are no allocation (free(NULL)), and blocks of size
 * zero.
 */
#include "tests/targets/target.h"

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 100), i;
	char *block = malloc(123), *empty;

	CHECK(block);
	for (i = 0; i < n; i++) {
		CHECK(!calloc(opaque(SIZE_MAX / 2 + 2), 2)); /* the product is 2 modulo 2^64 */
		CHECK(!calloc(opaque(1UL << 33), opaque(1UL << 33))); /* and here 0 */
		CHECK(!malloc(IMPOSSIBLE));
		CHECK(!realloc(block, IMPOSSIBLE));
		CHECK(!reallocarray(block, opaque(SIZE_MAX / 2), 3));
		CHECK(!reallocarray(block, opaque(SIZE_MAX / 16), 8));
		free(NULL);
		empty = malloc(opaque(0));
		CHECK(empty);
		if (i % 2)
			free(empty);
		empty = calloc(opaque(0), 8);
		CHECK(empty);
		free(empty);
		CHECK(!realloc(malloc(10), 0));
	}
	/* It is still there, after all that failed. */
	free(block);
	tell("done %llu\n", (unsigned long long)n);
	return 0;
}
