/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pair loop: malloc and free of 24 to 64 bytes, at a given call depth, in one or more threads.
 *
 *	pairs DEPTH THREADS PAIRS
 *
 * PAIRS are done by each thread. DEPTH counts the frames between a thread's start and malloc. The
 * frames are of four functions of different sizes, so that an unwinder meets different rules.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
	long pairs;
	int depth;
};

static void __attribute__((noinline)) pairs(long n)
{
	for (long i = 0; i < n; i++) {
		void *volatile block = malloc(24 + (size_t)(i & 5) * 8);

		free(block);
	}
}

static void descend(int depth, long n);

/* Work after the call keeps it from being a jump. */
#define FRAME(name, bytes)                                                                         \
	static void __attribute__((noinline)) name(int depth, long n)                              \
	{                                                                                          \
		volatile char frame[bytes];                                                        \
                                                                                                   \
		frame[0] = (char)depth;                                                            \
		descend(depth - 1, n);                                                             \
		frame[bytes - 1] = frame[0];                                                       \
	}

FRAME(frame_a, 16)
FRAME(frame_b, 200)
FRAME(frame_c, 48)
FRAME(frame_d, 1000)

static inline __attribute__((always_inline)) void descend(int depth, long n)
{
	if (depth <= 0) {
		pairs(n);
		return;
	}
	switch (depth & 3) {
	case 0:
		frame_a(depth, n);
		break;
	case 1:
		frame_b(depth, n);
		break;
	case 2:
		frame_c(depth, n);
		break;
	default:
		frame_d(depth, n);
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

	if (argc != 4)
		return 2;
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
