/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waves: does what it is told by lines of its standard input, and prints a line "done ALLOCATIONS
 * BYTES" after each, both of that line alone. What it reads by needs no memory.
 *
 *	busy MS		makes and frees blocks as fast as it can
 *	quiet MS	computes, and makes and frees one a millisecond
 *	serve MS	sleeps for the most part: 6,000 calls a second with half a percent of a CPU
 *	steady MS	computes, and makes and frees two of 8 KiB a millisecond
 *	keep N SIZE	makes N blocks and keeps them
 *	drop		frees what it keeps
 */
#include "tests/targets/target.h"

#include <time.h>

#define MOST_KEPT 4096
#define STEP 256

static void *kept[MOST_KEPT];
static size_t n_kept;
static uint64_t allocations, bytes;

static uint64_t now_us(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static __attribute__((noinline)) void *make(size_t size)
{
	unsigned char *block = malloc(size);

	CHECK(block);
	block[0] = (unsigned char)size;
	allocations++;
	bytes += size;
	return block;
}

static __attribute__((noinline)) void busy(uint64_t until_us)
{
	uint64_t seed = 42;

	while (now_us() < until_us)
		for (int i = 0; i < STEP; i++)
			free(make(next_random(&seed) % 200 + 8));
}

static void compute(uint64_t until_us)
{
	uint64_t seed = 1;

	while (now_us() < until_us)
		CHECK(next_random(&seed) != 0);
}

static __attribute__((noinline)) void quiet(uint64_t until_us)
{
	for (uint64_t at = now_us(); at < until_us; at += 1000) {
		free(make(100));
		compute(at + 1000);
	}
}

static __attribute__((noinline)) void steady(uint64_t until_us)
{
	for (uint64_t at = now_us(); at < until_us; at += 1000) {
		for (int i = 0; i < 2; i++)
			free(make(8192));
		compute(at + 1000);
	}
}

/* Each hundredth of a second 60 calls, and what is left of 50 us of work. */
static __attribute__((noinline)) void serve(uint64_t until_us)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	while (now_us() < until_us) {
		uint64_t begin_us = now_us();

		for (int i = 0; i < 30; i++)
			free(make(100));
		compute(begin_us + 50);
		CHECK(nanosleep(&pause, NULL) == 0);
	}
}

static __attribute__((noinline)) void keep(uint64_t n, size_t size)
{
	CHECK(n_kept + n <= MOST_KEPT);
	while (n-- > 0)
		kept[n_kept++] = make(size);
}

static void drop(void)
{
	while (n_kept > 0)
		free(kept[--n_kept]);
}

/* 0 at the end. */
static size_t read_line(char *line, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(0, line + n, 1) == 1) {
		if (line[n] == '\n') {
			line[n] = '\0';
			return n;
		}
		n++;
	}
	return 0;
}

int main(void)
{
	char line[64];

	tell("ready %d\n", (int)getpid());
	while (read_line(line, sizeof(line))) {
		char *at = strchr(line, ' ');
		uint64_t number = at ? strtoull(at, &at, 10) : 0;

		allocations = bytes = 0;
		if (strncmp(line, "busy ", 5) == 0)
			busy(now_us() + number * 1000);
		else if (strncmp(line, "quiet ", 6) == 0)
			quiet(now_us() + number * 1000);
		else if (strncmp(line, "serve ", 6) == 0)
			serve(now_us() + number * 1000);
		else if (strncmp(line, "steady ", 7) == 0)
			steady(now_us() + number * 1000);
		else if (strncmp(line, "keep ", 5) == 0)
			keep(number, strtoull(at, NULL, 10));
		else
			drop();
		tell("done %llu %llu\n", (unsigned long long)allocations,
		     (unsigned long long)bytes);
	}
	return 0;
}
