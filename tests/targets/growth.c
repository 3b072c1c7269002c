/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * growth STEPS [SEED [MICROSECONDS]]: each kind of site that reports give a verdict on, all in one
 * program, each with a function of its own that allocates. Prints "ready PID", and "done BYTES"
 * with what leak() has lost.
 */
#include "tests/targets/target.h"

#define ROOM 2000

struct site {
	void *block[ROOM];
	uint64_t born[ROOM];
	size_t n;
};

static uint64_t seed, now;

#define SITE(name)                                                                                 \
	static __attribute__((noinline)) void *name(size_t size)                                   \
	{                                                                                          \
		void *block = malloc(size);                                                        \
                                                                                                   \
		CHECK(block);                                                                      \
		return block;                                                                      \
	}

SITE(leak)
SITE(slow_leak)
SITE(cache)
SITE(lru)
SITE(sawtooth)
SITE(warm_up)
SITE(busy)
SITE(backlog)

static struct site slow_leak_blocks, cache_blocks, lru_blocks, sawtooth_blocks, warm_up_blocks;
static struct site busy_blocks, backlog_blocks;

static uint64_t below(uint64_t n)
{
	return next_random(&seed) % n;
}

static void add(struct site *site, void *block)
{
	CHECK(site->n < ROOM);
	site->born[site->n] = now;
	site->block[site->n++] = block;
}

static void drop(struct site *site, size_t index)
{
	free(site->block[index]);
	site->n--;
	memmove(&site->block[index], &site->block[index + 1], (site->n - index) * sizeof(void *));
	memmove(&site->born[index], &site->born[index + 1], (site->n - index) * sizeof(uint64_t));
}

/* Up to `level` blocks of which a third is replaced each time. */
static void churn(struct site *site, void *(*make)(size_t), size_t level)
{
	for (size_t i = site->n / 3 + 1; i && site->n; i--)
		drop(site, below(site->n));
	while (site->n > level)
		drop(site, below(site->n));
	while (site->n < level)
		add(site, make(100 + below(100)));
}

/* What is always there wanders by a fifth; each tenth step a block of it is forgotten. */
static void slowly(uint64_t step)
{
	churn(&slow_leak_blocks, slow_leak, 100 + below(30));
	if (step % 10 == 0)
		slow_leak_blocks.n--;
}

static uint64_t run(uint64_t step, uint64_t steps)
{
	uint64_t size = 300 + below(100);

	slowly(step);
	CHECK(leak(size));
	add(&cache_blocks, cache(200 + below(100)));
	if (cache_blocks.n > steps / 4)
		drop(&cache_blocks, below(cache_blocks.n));
	add(&lru_blocks, lru(200 + below(100)));
	if (lru_blocks.n > steps / 3)
		drop(&lru_blocks, 0);
	add(&sawtooth_blocks, sawtooth(300));
	while (sawtooth_blocks.n > steps / 7 && below(2))
		while (sawtooth_blocks.n)
			drop(&sawtooth_blocks, 0);
	if (step < steps / 3)
		add(&warm_up_blocks, warm_up(400));
	churn(&busy_blocks, busy, 100 + below(50));
	for (int i = 0; i < 5; i++)
		add(&backlog_blocks, backlog(100));
	for (int i = 0; i < 4 + (step % 3 > 0); i++)
		drop(&backlog_blocks, 0);
	return size;
}

int main(int argc, char **argv)
{
	uint64_t steps = argument(argc, argv, 1, 600), wait_us = argument(argc, argv, 3, 10000);
	uint64_t lost = 0;

	seed = argument(argc, argv, 2, 1);
	CHECK(steps <= 3 * ROOM);
	tell("ready %d\n", getpid());
	for (now = 0; now < steps; now++) {
		lost += run(now, steps);
		usleep((useconds_t)wait_us);
	}
	tell("done %llu\n", (unsigned long long)lost);
	return 0;
}
