/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lost blocks to which nothing points but what the allocator keeps for itself: a chunk's header
 * lies in the last word of the block before it (malloc(24)), and bins of all kinds, links in freed
 * chunks, tops and remainders point to headers; also in a thread's arena.
 */
#include "leaks.h"
#include <malloc.h>
#include <pthread.h>

#define SIZES 12

static void *kept[3 * SIZES];

/* A lost block before each chunk that is freed then, and one that is held behind it. */
static void lose_of_arena(size_t seed, void **held)
{
	void *between[SIZES];

	for (size_t i = 0; i < SIZES; i++) {
		(void)!calloc(1, seed + 16 * i + 8);
		between[i] = malloc(1100 + 400 * i);
		held[i] = calloc(1, 24 + 32 * i);
	}
	for (size_t i = 0; i < SIZES; i++)
		free(between[i]);
	memset(between, 0, sizeof(between));
	/* sorts what was freed into its bins, those of large chunks by size */
	held[SIZES] = calloc(1, 20000);
	/* before the top, and before the mapping's end */
	(void)!calloc(1, seed + 16 * SIZES + 8);
}

static void *lose_in_thread(void *arg)
{
	lose_of_arena(4096, &kept[SIZES + 1]);
	return arg;
}

LOSE lose(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, lose_in_thread, NULL);
	pthread_join(thread, NULL);
	lose_of_arena(1024, kept);
	malloc_trim(0);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
