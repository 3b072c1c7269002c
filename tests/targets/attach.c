/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach N THREADS: makes N blocks in several threads and waits, "ready PID", for a line on stdin
 * (memtraced is attached meanwhile). Then each thread frees its half of the old blocks and makes N
 * new ones, of which a third is freed again; "worked" and another wait, so that a report can be
 * taken at rest; then it ends.
 */
#include "tests/targets/target.h"

#include <pthread.h>

#define MAX_THREADS 16

struct worker {
	pthread_t thread;
	uint64_t n;
	void **old;
};

static pthread_barrier_t at_rest, go;

static __attribute__((noinline)) void new_blocks(uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		char *block = malloc(48 + i % 100);

		CHECK(block);
		if (i % 3 == 0)
			free(block);
	}
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t i;

	for (i = 0; i < worker->n; i++) {
		worker->old[i] = malloc(500 + i % 10);
		CHECK(worker->old[i]);
	}
	pthread_barrier_wait(&at_rest);
	pthread_barrier_wait(&go);
	for (i = 0; i < worker->n / 2; i++)
		free(worker->old[i]);
	new_blocks(worker->n);
	pthread_barrier_wait(&at_rest);
	pthread_barrier_wait(&go);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 1000), threads = argument(argc, argv, 2, 3), i;
	struct worker worker[MAX_THREADS];

	CHECK(threads > 0 && threads <= MAX_THREADS);
	CHECK(!pthread_barrier_init(&at_rest, NULL, (unsigned)threads + 1));
	CHECK(!pthread_barrier_init(&go, NULL, (unsigned)threads + 1));
	for (i = 0; i < threads; i++) {
		worker[i].n = n / threads;
		worker[i].old = calloc(n / threads + 1, sizeof(void *));
		CHECK(worker[i].old);
		CHECK(!pthread_create(&worker[i].thread, NULL, work, &worker[i]));
	}
	pthread_barrier_wait(&at_rest);
	tell("ready %d\n", getpid());
	wait_for_line();
	pthread_barrier_wait(&go);
	pthread_barrier_wait(&at_rest);
	tell("worked\n");
	wait_for_line();
	pthread_barrier_wait(&go);
	for (i = 0; i < threads; i++)
		CHECK(!pthread_join(worker[i].thread, NULL));
	tell("done\n");
	return 0;
}
