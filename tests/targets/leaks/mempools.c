/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pools that tell memtraced and Valgrind of themselves: blocks that are lost, given back one by
 * one, cut off, moved, and left when their pool goes. The memory is from mmap, and a block of
 * malloc.
 */
#include "include/memtraced_pools.h"
#include "leaks.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, zeroed)
#define VALGRIND_DESTROY_MEMPOOL(pool)
#define VALGRIND_MEMPOOL_ALLOC(pool, block, size)
#define VALGRIND_MEMPOOL_FREE(pool, block)
#define VALGRIND_MEMPOOL_TRIM(pool, start, size)
#define VALGRIND_MEMPOOL_CHANGE(pool, from, to, size)
#define VALGRIND_MOVE_MEMPOOL(from, to)
#endif

#define ARENA (1 << 20)
#define MANY 3000

struct pool {
	char *next;
};

static struct pool left, trimmed, gone, moved, changed, inside, many;
static void *kept;

static void pool_begin(struct pool *pool, char *memory)
{
	pool->next = memory + 16;
	VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
}

static void *pool_get(struct pool *pool, size_t size)
{
	char *block = pool->next;

	pool->next += (size + 31) / 16 * 16; /* no block ends where the next free byte is */
	VALGRIND_MEMPOOL_ALLOC(pool, block, size);
	return memtraced_mempool_alloc(pool, block, size);
}

static void pool_put(const struct pool *pool, void *block)
{
	memtraced_mempool_free(pool, block);
	VALGRIND_MEMPOOL_FREE(pool, block);
}

static void pool_end(const struct pool *pool)
{
	memtraced_destroy_mempool(pool);
	VALGRIND_DESTROY_MEMPOOL(pool);
}

LOSE lose_of_arena(char *arena)
{
	char *first;
	void *from, *to;

	pool_begin(&left, arena);
	for (size_t i = 0; i < 5; i++)
		kept = pool_get(&left, 100 + i);
	pool_put(&left, pool_get(&left, 7));

	/* of five blocks two stay, and of a third the first 40 bytes */
	pool_begin(&trimmed, arena + ARENA / 8);
	first = (char *)pool_get(&trimmed, 64);
	for (size_t i = 0; i < 4; i++)
		(void)pool_get(&trimmed, 64);
	memtraced_mempool_trim(&trimmed, first, 2 * 80 + 40);
	VALGRIND_MEMPOOL_TRIM(&trimmed, first, 2 * 80 + 40);

	pool_begin(&gone, arena + 2 * (ARENA / 8));
	for (size_t i = 0; i < 9; i++)
		(void)pool_get(&gone, 300 + i);
	memtraced_move_mempool(&gone, &moved);
	VALGRIND_MOVE_MEMPOOL(&gone, &moved);
	pool_end(&moved);

	pool_begin(&changed, arena + 3 * (ARENA / 8));
	from = pool_get(&changed, 500);
	to = pool_get(&changed, 501);
	pool_put(&changed, to);
	memtraced_mempool_change(&changed, from, to, 502);
	VALGRIND_MEMPOOL_CHANGE(&changed, from, to, 502);
}

/* More than the first table has room for; every third one is left when the pool goes. */
LOSE lose_many(char *arena)
{
	static void *blocks[MANY];

	pool_begin(&many, arena);
	for (size_t i = 0; i < MANY; i++)
		blocks[i] = pool_get(&many, 24);
	for (size_t i = 0; i < MANY; i++)
		if (i % 3)
			pool_put(&many, blocks[i]);
	memset(blocks, 0, sizeof(blocks));
	pool_end(&many);
}

LOSE lose_of_block(void)
{
	char *block = (char *)calloc(1, 4096);

	pool_begin(&inside, block + 16);
	(void)pool_get(&inside, 700);
	(void)pool_get(&inside, 800);
	inside.next = NULL;
}

int main(void)
{
	char *arena = (char *)mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

	if (arena == MAP_FAILED)
		return 1;
	lose_of_arena(arena);
	lose_many(arena + ARENA / 2);
	lose_of_block();
	scrub();
	return 0;
}
