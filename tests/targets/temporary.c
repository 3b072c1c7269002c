/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * temporary N: of each round's four blocks, one is freed right after it was made (temporary), one
 * after another allocation (not), one by another thread (not), and one stays.
 */
#include "tests/targets/target.h"

#include <pthread.h>

static void *free_it(void *block)
{
	free(block);
	return NULL;
}

static __attribute__((noinline)) void short_lived(void)
{
	free(malloc(31));
}

static __attribute__((noinline)) void long_lived(void)
{
	void *first = malloc(32), *second = malloc(33);

	CHECK(first && second);
	free(first);
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 50), i;
	pthread_t thread;

	for (i = 0; i < n; i++) {
		void *handed;

		short_lived();
		long_lived();
		handed = malloc(34);
		CHECK(!pthread_create(&thread, NULL, free_it, handed));
		CHECK(!pthread_join(thread, NULL));
	}
	tell("done %llu\n", (unsigned long long)n);
	return 0;
}
