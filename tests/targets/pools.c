/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: pools [CALLS]
 *
 * A pool over malloc, whose functions memtraced does not know: only --allocator tells it. The
 * ledger is of the pool's blocks. Chunks come from malloc, and go back to free inside pool_put, or
 * all at once in pool_trim.
 */
#include "tests/targets/ledger.h"
#include "tests/targets/target.h"

#define API __attribute__((noinline))
#define CHUNK_BLOCKS 32
#define MOST 600
#define N_SLOTS 200

struct chunk {
	struct chunk *next;
	unsigned int used; /* bit n: block n is given away */
	char block[CHUNK_BLOCKS][MOST] __attribute__((aligned(16)));
};

struct pool {
	struct chunk *chunks;
	bool keeps_chunks;
};

static struct chunk *chunk_of(const struct pool *pool, const void *block, unsigned int *ret_at)
{
	for (struct chunk *chunk = pool->chunks; chunk; chunk = chunk->next)
		if ((const char *)block >= chunk->block[0] &&
		    (const char *)block < chunk->block[CHUNK_BLOCKS]) {
			*ret_at = ((const char *)block - chunk->block[0]) / MOST;
			return chunk;
		}
	_exit(97);
}

static void drop_empty(struct pool *pool)
{
	struct chunk **at = &pool->chunks, *chunk;

	while ((chunk = *at)) {
		if (chunk->used) {
			at = &chunk->next;
			continue;
		}
		*at = chunk->next;
		free(chunk);
	}
}

API void *pool_get(struct pool *pool, size_t size)
{
	struct chunk *chunk = pool->chunks;

	if (size > MOST)
		return NULL;
	while (chunk && chunk->used == ~0U)
		chunk = chunk->next;
	if (!chunk) {
		chunk = calloc(1, sizeof(*chunk));
		CHECK(chunk);
		chunk->next = pool->chunks;
		pool->chunks = chunk;
	}
	for (unsigned int i = 0;; i++)
		if (!(chunk->used & 1U << i)) {
			chunk->used |= 1U << i;
			return chunk->block[i];
		}
}

API void *pool_get_array(struct pool *pool, size_t n, size_t size)
{
	return pool_get(pool, n * size);
}

API int pool_get_into(size_t size, struct pool *pool, void **ret)
{
	void *block = pool_get(pool, size);

	if (!block)
		return -1;
	*ret = block;
	return 0;
}

API void pool_put(struct pool *pool, void *block)
{
	unsigned int at;
	struct chunk *chunk = chunk_of(pool, block, &at);

	chunk->used &= ~(1U << at);
	if (!pool->keeps_chunks)
		drop_empty(pool);
}

API void *pool_resize(struct pool *pool, size_t size, void *block)
{
	void *moved = pool_get(pool, size);

	if (moved) {
		memcpy(moved, block, size);
		pool_put(pool, block);
	}
	return moved;
}

API void pool_trim(struct pool *pool)
{
	drop_empty(pool);
}

static struct pool pool;
static void *slots[N_SLOTS];

static void *resize(void *block, size_t size)
{
	return pool_resize(&pool, size, block);
}

static void *into(size_t size)
{
	void *block = NULL;

	return pool_get_into(size, &pool, &block) ? NULL : block;
}

static void step(uint64_t random)
{
	void **slot = &slots[(random >> 16) % N_SLOTS];
	size_t size = 1 + random % (MOST / 3) * 3;

	if (*slot && random >> 32 & 1) {
		ledger_free(*slot);
		pool_put(&pool, *slot);
		*slot = NULL;
	} else if (*slot) {
		*slot = ledger_realloc(resize, *slot, size);
		CHECK(*slot);
	} else if (random >> 33 & 1) {
		*slot = ledger_alloc(pool_get(&pool, size), size);
	} else if (random >> 34 & 1) {
		*slot = ledger_alloc(into(size), size);
	} else {
		*slot = ledger_alloc(pool_get_array(&pool, (size + 2) / 3, 3), (size + 2) / 3 * 3);
	}
}

int main(int argc, char **argv)
{
	uint64_t calls = argument(argc, argv, 1, 2000), seed = 11;

	CHECK(ledger_open("SELF_COUNTS"));
	for (uint64_t i = 0; i < calls; i++)
		step(next_random(&seed));
	CHECK(!ledger_alloc(pool_get(&pool, MOST + 1), MOST + 1));
	CHECK(!ledger_alloc(into(MOST + 1), MOST + 1));
	CHECK(!ledger_realloc(resize, slots[0] ? slots[0] : ledger_alloc(pool_get(&pool, 1), 1),
			      MOST + 1));
	pool.keeps_chunks = true;
	for (size_t i = 0; i < N_SLOTS / 2; i++)
		if (slots[i]) {
			ledger_free(slots[i]);
			pool_put(&pool, slots[i]);
		}
	pool_trim(&pool);
	tell("done %llu\n", (unsigned long long)calls);
	return 0;
}
