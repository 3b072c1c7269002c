/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks whose addresses are nowhere but in memory that was freed: blocks of each kind of free list
 * (main arena and a thread's), the rest of blocks that have shrunk, a block behind the heap's end.
 */
#include "leaks.h"
#include <pthread.h>

#define KINDS 6

static const size_t sizes[KINDS] = { 40, 120, 1000, 1500, 5000, 70000 };
static void *kept[2][KINDS + 2];

/* Two of each size, and more of the small ones than a tcache takes: a fastbin has the rest. */
static void lose_of_arena(size_t lost, void **between)
{
	void **freed[KINDS][9], **shrunk = (void **)malloc(3000);

	for (int i = 0; i < KINDS; i++)
		for (int k = 0; k < 9; k++) {
			freed[i][k] = (void **)malloc(sizes[i]);
			memset(freed[i][k], 0, sizes[i]);
			/* behind the links of lists: two words, of large chunks four */
			freed[i][k][i < 3 ? 2 : 4] = calloc(1, lost + 16 * (i * 9 + k));
			if (k == 8)
				between[i] = calloc(1, 25);
		}
	shrunk[300] = calloc(1, lost + 16 * 60);
	between[KINDS] = realloc(shrunk, 64);
	between[KINDS + 1] = calloc(1, 25);
	for (int i = 0; i < KINDS; i++)
		for (int k = 0; k < 9; k++)
			free(freed[i][k]);
	memset(freed, 0, sizeof(freed));
	/* takes a chunk out of the lists, whose rest is the last remainder */
	memset(between[KINDS], 0, 64);
	between[KINDS] = realloc(between[KINDS], 64);
}

static void *lose_in_thread(void *arg)
{
	lose_of_arena(3000, kept[1]);
	return arg;
}

LOSE lose(void)
{
	pthread_t thread;

	lose_of_arena(1000, kept[0]);
	pthread_create(&thread, NULL, lose_in_thread, NULL);
	pthread_join(thread, NULL);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
