/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wander N [DEPTHS]: blocks that are made in one place and dropped in another. near() and far()
 * make N each; drop_here() frees all of near's and a third of far's, drop_there(), in another
 * thread, the second third, regrown() has realloc replace a quarter of the last one. "place MADE
 * DROPPED BLOCKS BYTES OTHERS LEAST MOST" says of each pair what the program itself knows: the last
 * two are the bounds of all lifetimes together in nanoseconds, by what the clock showed around the
 * calls. DEPTHS^2 more blocks are made and dropped at so many depths of recursion, each pair once.
 * Then "done".
 */
#include "tests/targets/target.h"

#include <pthread.h>
#include <time.h>

struct block {
	char *at;
	size_t size;
	uint64_t before_ns, after_ns; /* its allocation */
};

struct sum {
	const char *made, *dropped;
	uint64_t blocks, bytes, others, least_ns, most_ns;
};

static struct sum sums[] = {
	{ "near", "drop_here", 0, 0, 0, 0, 0 },
	{ "far", "drop_here", 0, 0, 0, 0, 0 },
	{ "far", "drop_there", 0, 0, 0, 0, 0 },
	{ "far", "regrown", 0, 0, 0, 0, 0 },
};

struct work {
	struct block *blocks;
	uint64_t from, to;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	CHECK(!clock_gettime(CLOCK_MONOTONIC, &now));
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) void near(struct block *block, size_t size)
{
	block->size = size;
	block->before_ns = now_ns();
	block->at = malloc(size);
	block->after_ns = now_ns();
	CHECK(block->at);
}

static __attribute__((noinline)) void far(struct block *block, size_t size)
{
	block->size = size;
	block->before_ns = now_ns();
	block->at = calloc(1, size);
	block->after_ns = now_ns();
	CHECK(block->at);
}

static void count(struct sum *sum, const struct block *block, uint64_t before_ns, uint64_t after_ns,
		  uint64_t others)
{
	sum->blocks++;
	sum->bytes += block->size;
	sum->others += others;
	sum->least_ns += before_ns - block->after_ns;
	sum->most_ns += after_ns - block->before_ns;
}

static __attribute__((noinline)) void drop_here(struct block *block, struct sum *sum)
{
	uint64_t before_ns = now_ns();

	free(block->at);
	count(sum, block, before_ns, now_ns(), 0);
}

static __attribute__((noinline)) void drop_there(struct block *block, struct sum *sum)
{
	uint64_t before_ns = now_ns();

	free(block->at);
	count(sum, block, before_ns, now_ns(), 1);
}

/* The old block ends inside the call, and at its entry is the last that the program knows of it. */
static __attribute__((noinline)) void regrown(struct block *block, struct sum *sum)
{
	uint64_t before_ns = now_ns();
	char *grown = realloc(block->at, 3 * block->size);

	CHECK(grown);
	count(sum, block, before_ns, now_ns(), 0);
	block->at = grown; /* stays */
}

static void *other_thread(void *arg)
{
	const struct work *work = arg;
	uint64_t i;

	for (i = work->from; i < work->to; i++)
		drop_there(&work->blocks[i], &sums[2]);
	return NULL;
}

static void drop_all(struct block *near_ones, struct block *far_ones, uint64_t n)
{
	struct work work = { far_ones, n / 3, 2 * n / 3 };
	pthread_t thread;
	uint64_t i;

	for (i = 0; i < n; i++)
		drop_here(&near_ones[i], &sums[0]);
	for (i = 0; i < n / 3; i++)
		drop_here(&far_ones[i], &sums[1]);
	CHECK(!pthread_create(&thread, NULL, other_thread, &work));
	CHECK(!pthread_join(thread, NULL));
	for (i = 2 * n / 3; i < n; i += 4)
		regrown(&far_ones[i], &sums[3]);
}

/* What stands behind the call keeps it from becoming a jump. */
static __attribute__((noinline)) int at_depth(uint64_t depth, char **block)
{
	int r = 0;

	if (depth > 0) {
		r = at_depth(depth - 1, block);
	} else if (*block) {
		free(*block);
		*block = NULL;
	} else {
		*block = malloc(24);
	}
	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

static void wander_deep(uint64_t depths)
{
	char *block = NULL;
	uint64_t i, j;

	for (i = 0; i < depths; i++)
		for (j = 0; j < depths; j++) {
			CHECK(at_depth(i, &block) && block);
			CHECK(at_depth(j, &block) && !block);
		}
}

int main(int argc, char **argv)
{
	static struct block near_ones[10000], far_ones[10000];
	uint64_t n = argument(argc, argv, 1, 300), i;

	CHECK(n <= 10000);
	for (i = 0; i < n; i++) {
		near(&near_ones[i], 32 + i % 100);
		far(&far_ones[i], 500 + i % 7);
	}
	usleep(20000);
	drop_all(near_ones, far_ones, n);
	for (i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		tell("place %s %s %llu %llu %llu %llu %llu\n", sums[i].made, sums[i].dropped,
		     (unsigned long long)sums[i].blocks, (unsigned long long)sums[i].bytes,
		     (unsigned long long)sums[i].others, (unsigned long long)sums[i].least_ns,
		     (unsigned long long)sums[i].most_ns);
	wander_deep(argument(argc, argv, 2, 0));
	tell("done\n");
	return 0;
}
