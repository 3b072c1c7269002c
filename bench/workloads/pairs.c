/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pair loop: malloc and free of 24 to 64 bytes, at a given call depth, in one or more threads.
 *
 *	pairs DEPTH THREADS PAIRS [keep|turns]
 *
 * PAIRS are done by each thread. DEPTH counts the frames between a thread's start and malloc. keep:
 * nothing is freed. turns: PAIRS are done for each byte of the input, and the thread's CPU time for
 * them is written, in ns a line, until the input ends.
 */
#include "frames.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct job {
	long pairs;
	int depth;
};

static bool keep, turns;
static void *volatile kept;

static long long used_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* cannot fail with this clock */
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* False: there are no more. */
static bool await_turn(void)
{
	char byte;

	return read(STDIN_FILENO, &byte, 1) == 1;
}

static void __attribute__((noinline)) innermost(long n)
{
	while (turns && await_turn()) {
		long long start = used_ns();

		for (long i = 0; i < n; i++) {
			void *volatile block = malloc(24 + (size_t)(i & 5) * 8);

			free(block);
		}
		(void)dprintf(STDOUT_FILENO, "%lld\n", used_ns() - start); /* missed there */
	}
	if (turns)
		return;
	for (long i = 0; keep && i < n; i++)
		kept = malloc(24 + (size_t)(i & 5) * 8);
	for (long i = 0; !keep && i < n; i++) {
		void *volatile block = malloc(24 + (size_t)(i & 5) * 8);

		free(block);
	}
}

static void *work(void *arg)
{
	const struct job *job = arg;

	/* malloc's caller and this function are two of the frames. */
	descend(job->depth - 2, job->pairs);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	struct job job;
	int count;

	if (argc < 4 || argc > 5)
		return 2;
	keep = argc == 5 && strcmp(argv[4], "keep") == 0;
	turns = argc == 5 && strcmp(argv[4], "turns") == 0;
	job.depth = atoi(argv[1]);
	count = atoi(argv[2]);
	job.pairs = atol(argv[3]);
	if (job.depth < 2 || count < 1 || count > 64 || job.pairs < 1)
		return 2;
	if (count == 1) {
		(void)work(&job); /* always NULL */
		return 0;
	}
	for (int i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, work, &job))
			return 1;
	}
	for (int i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL); /* threads that were made above */
	return 0;
}
