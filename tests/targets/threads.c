/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads THREADS OPS [held]: threads that put their new blocks into shared places and free what
 * they find there, mostly blocks of others. OPS allocations in all; what is in the places at the
 * end stays. "held": says "ready" first and waits for a line, and for another one at the end.
 */
#include "tests/targets/target.h"

#include <pthread.h>
#include <stdbool.h>

#define PLACES 4096
#define MAX_THREADS 64

struct worker {
	pthread_t thread;
	uint64_t seed, ops;
};

static void *place[PLACES];

static __attribute__((noinline)) void *make_block(uint64_t *seed)
{
	size_t size = next_random(seed) % 1000 + 1;
	char *block = malloc(size);

	CHECK(block);
	memset(block, 0x5a, size);
	return block;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t i;

	for (i = 0; i < worker->ops; i++) {
		void **at = &place[next_random(&worker->seed) % PLACES];

		free(__atomic_exchange_n(at, make_block(&worker->seed), __ATOMIC_ACQ_REL));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t threads = argument(argc, argv, 1, 8), ops = argument(argc, argv, 2, 10000000), i;
	struct worker worker[MAX_THREADS];
	bool held = argc > 3;

	CHECK(threads > 0 && threads <= MAX_THREADS);
	if (held) {
		free(make_block(
			&(uint64_t){ 1 })); /* what counts for itself begins with its first call */
		tell("ready\n");
		wait_for_line();
	}
	for (i = 0; i < threads; i++) {
		worker[i].seed = i + 1;
		worker[i].ops = ops / threads + (i < ops % threads);
		CHECK(!pthread_create(&worker[i].thread, NULL, work, &worker[i]));
	}
	for (i = 0; i < threads; i++)
		CHECK(!pthread_join(worker[i].thread, NULL));
	tell("done %llu\n", (unsigned long long)ops);
	if (held)
		wait_for_line();
	return 0;
}
