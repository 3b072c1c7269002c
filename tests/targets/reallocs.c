/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reallocs CHAINS: chains of realloc that grow, move, shrink and fail, while other threads take
 * whatever address a chain gives up. Each chain is freed in another way; one in four is kept.
 */
#include "tests/targets/target.h"

#include <pthread.h>
#include <stdbool.h>

#define WORKERS 2
#define NOISE 2
#define NOISE_BLOCKS 64

static bool stop;

static void *noise(void *arg)
{
	void *block[NOISE_BLOCKS] = { 0 };
	uint64_t seed = (uintptr_t)arg;
	size_t i;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		i = next_random(&seed) % NOISE_BLOCKS;
		free(block[i]);
		block[i] = malloc(next_random(&seed) % 3000 + 1);
		CHECK(block[i]);
	}
	for (i = 0; i < NOISE_BLOCKS; i++)
		free(block[i]);
	return NULL;
}

/* A call that fails leaves the old block as it is. */
static void fail_to_grow(char *block)
{
	CHECK(!realloc(block, IMPOSSIBLE));
	CHECK(!reallocarray(block, opaque(SIZE_MAX / 2), 3));
	CHECK(block[0] == 'x');
}

static __attribute__((noinline)) char *chain(uint64_t *seed)
{
	size_t size = next_random(seed) % 100 + 1;
	char *block = realloc(NULL, size), *moved;
	int step;

	CHECK(block);
	block[0] = 'x';
	for (step = 0; step < 8; step++) {
		size = step % 3 == 2 ? size / 2 + 1 : size * 2 + next_random(seed) % 64;
		moved = step == 5 ? reallocarray(block, size, 2) : realloc(block, size);
		CHECK(moved && moved[0] == 'x');
		block = moved;
	}
	fail_to_grow(block);
	return block;
}

struct chains {
	pthread_t thread;
	uint64_t seed, n;
	char **kept;
};

static void *work(void *arg)
{
	struct chains *chains = arg;
	uint64_t i;

	for (i = 0; i < chains->n; i++) {
		char *block = chain(&chains->seed);

		switch (i % 4) {
		case 0:
			free(block);
			break;
		case 1:
			CHECK(!realloc(block, 0)); /* glibc frees */
			break;
		case 2:
			free(realloc(block, 1));
			break;
		default:
			chains->kept[i / 4] = block;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 10000), i;
	struct chains chains[WORKERS];
	pthread_t other[NOISE];

	for (i = 0; i < NOISE; i++)
		CHECK(!pthread_create(&other[i], NULL, noise, (void *)(uintptr_t)(i + 1)));
	for (i = 0; i < WORKERS; i++) {
		chains[i] = (struct chains){ .seed = i + 100, .n = n / WORKERS };
		chains[i].kept = calloc(n / WORKERS / 4 + 1, sizeof(char *));
		CHECK(chains[i].kept);
		CHECK(!pthread_create(&chains[i].thread, NULL, work, &chains[i]));
	}
	for (i = 0; i < WORKERS; i++)
		CHECK(!pthread_join(chains[i].thread, NULL));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < NOISE; i++)
		CHECK(!pthread_join(other[i], NULL));
	tell("done %llu\n", (unsigned long long)n);
	return 0;
}
