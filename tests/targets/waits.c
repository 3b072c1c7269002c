/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits MS: waits in functions of their own: sleeps() in the first thread, three times, and then
 * reads() of a pipe that a second thread writes to when it has slept in pauses(). Prints "FUNCTION
 * TIMES NANOSECONDS" for each, by the clock around what waits. Then "ready PID", and with a line on
 * stdin it waits in rests() for ever.
 */
#include "tests/targets/target.h"

#include <pthread.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

static int ends[2];
static uint64_t pause_ms;

static uint64_t now_ns(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline __attribute__((always_inline)) uint64_t nap(uint64_t ms)
{
	const struct timespec time = { .tv_sec = (time_t)(ms / 1000),
				       .tv_nsec = (long)(ms % 1000 * 1000000) };
	uint64_t start = now_ns();

	CHECK(nanosleep(&time, NULL) == 0);
	return now_ns() - start;
}

static APART uint64_t sleeps(uint64_t ms)
{
	return nap(ms);
}

static APART uint64_t pauses(uint64_t ms)
{
	return nap(ms);
}

static APART uint64_t reads(void)
{
	uint64_t start = now_ns();
	char byte;

	CHECK(read(ends[0], &byte, 1) == 1);
	return now_ns() - start;
}

static APART uint64_t rests(void)
{
	return nap(1000000000);
}

static void *second(void *argument)
{
	uint64_t *ns = argument;

	*ns = pauses(pause_ms);
	CHECK(write(ends[1], "", 1) == 1);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t ms = argument(argc, argv, 1, 100), slept = 0, paused = 0, read_ns;
	pthread_t thread;
	char line;

	pause_ms = 2 * ms;
	CHECK(pipe(ends) == 0);
	for (int i = 0; i < 3; i++)
		slept += sleeps(ms);
	CHECK(pthread_create(&thread, NULL, second, &paused) == 0);
	read_ns = reads();
	CHECK(pthread_join(thread, NULL) == 0);
	tell("sleeps 3 %llu\n", (unsigned long long)slept);
	tell("pauses 1 %llu\n", (unsigned long long)paused);
	tell("reads 1 %llu\n", (unsigned long long)read_ns);
	tell("ready %d\n", getpid());
	if (read(0, &line, 1) == 1)
		rests();
	return 0;
}
