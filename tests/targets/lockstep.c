/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lockstep THREADS ROUNDS: each thread takes one block of 64 bytes in first(), then one of 48 in
 * second(), frees both, and begins anew. So at each moment first() was called as often as second(),
 * or once more by each thread.
 */
#include "tests/targets/target.h"

#include <pthread.h>

#define MAX_THREADS 64

static uint64_t rounds;

static __attribute__((noinline)) void *first(void)
{
	void *block = malloc(64);

	CHECK(block);
	return block;
}

static __attribute__((noinline)) void *second(void)
{
	void *block = malloc(48);

	CHECK(block);
	return block;
}

static void *work(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < rounds; i++) {
		void *a = first(), *b = second();

		free(a);
		free(b);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t threads = argument(argc, argv, 1, 8), i;
	pthread_t thread[MAX_THREADS];

	rounds = argument(argc, argv, 2, 10000);
	CHECK(threads > 0 && threads <= MAX_THREADS);
	for (i = 0; i < threads; i++)
		CHECK(!pthread_create(&thread[i], NULL, work, NULL));
	for (i = 0; i < threads; i++)
		CHECK(!pthread_join(thread[i], NULL));
	tell("done %llu\n", (unsigned long long)rounds);
	return 0;
}
