/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spin MS: uses the CPU for so many milliseconds of it in each turn: three of hot() in the first
 * thread, one of cold(), and four of other() in a second thread. With frame pointers or without.
 * Prints a line "FUNCTION NANOSECONDS" for each as the threads' clocks tell it, and "cpu
 * NANOSECONDS" of the process.
 */
#include "tests/targets/target.h"

#include <pthread.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	CHECK(clock_gettime(id, &now) == 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What is called for the time is a small part of it. */
static inline __attribute__((always_inline)) uint64_t spin(uint64_t ns)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), now, sum = 1;

	do {
		for (int i = 0; i < 20000; i++)
			sum = opaque(sum * 31 + (uint64_t)i);
		now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	} while (now - start < ns);
	return now - start;
}

static APART uint64_t hot(uint64_t ms)
{
	return spin(3000000 * ms);
}

static APART uint64_t cold(uint64_t ms)
{
	return spin(1000000 * ms);
}

static APART uint64_t other(uint64_t ms)
{
	return spin(4000000 * ms);
}

static void *second(void *argument)
{
	uint64_t *ms = argument;

	*ms = other(*ms);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t ms = argument(argc, argv, 1, 100), in_other = ms, in_hot, in_cold;
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, second, &in_other) == 0);
	in_hot = hot(ms);
	in_cold = cold(ms);
	CHECK(pthread_join(thread, NULL) == 0);
	tell("hot %llu\n", (unsigned long long)in_hot);
	tell("cold %llu\n", (unsigned long long)in_cold);
	tell("other %llu\n", (unsigned long long)in_other);
	tell("cpu %llu\n", (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
