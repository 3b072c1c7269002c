/* SPDX-License-Identifier: 0BSD */
/*
 * For allocators that give back many blocks at once: pools, as VALGRIND_MEMPOOL_ALLOC and the like
 * tell of them to Valgrind. While memtraced looks, the program remembers the blocks of each pool, in
 * memory from mmap(2); otherwise each of these returns at once. Not to be called by signal handlers.
 *
 * A block that does not begin at a multiple of 8 cannot be counted: reports count it as lost
 * (address-out-of-range).
 */
#ifndef MEMTRACED_POOLS_H
#define MEMTRACED_POOLS_H

#include "memtraced.h"

#include <stdint.h>
#include <sys/mman.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All bits are inverted, so that leak checks do not take them for pointers; block 0: free. */
struct memtraced_pool_block {
	uintptr_t block, pool;
	size_t size;
};

/* A hash table by the blocks' addresses, with linear probing. */
struct memtraced_pool_table {
	struct memtraced_pool_block *blocks;
	size_t room, used; /* room: a power of two, or 0 */
	char lock;
};

/* One for the whole program. */
extern struct memtraced_pool_table memtraced_pool_table;
__attribute__((__weak__, __used__,
	       __visibility__("default"))) struct memtraced_pool_table memtraced_pool_table = {
	0, 0, 0, 0
};

static inline size_t memtraced_pool_place(const struct memtraced_pool_table *table, uintptr_t block)
{
	size_t i = (size_t)((uint64_t)block * UINT64_C(0x9e3779b97f4a7c15) >> 20);

	while (table->blocks[i & (table->room - 1)].block &&
	       table->blocks[i & (table->room - 1)].block != block)
		i++;
	return i & (table->room - 1);
}

static inline int memtraced_pool_grow(struct memtraced_pool_table *table)
{
	struct memtraced_pool_table larger = { 0, table->room ? 2 * table->room : 256, table->used,
					       0 };
	void *memory = mmap(0, larger.room * sizeof(*table->blocks), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 0;
	larger.blocks = (struct memtraced_pool_block *)memory;
	for (size_t i = 0; i < table->room; i++)
		if (table->blocks[i].block)
			larger.blocks[memtraced_pool_place(&larger, table->blocks[i].block)] =
				table->blocks[i];
	if (table->room)
		(void)munmap(table->blocks, table->room * sizeof(*table->blocks));
	table->blocks = larger.blocks;
	table->room = larger.room;
	return 1;
}

static inline void memtraced_pool_put(struct memtraced_pool_table *table,
				      struct memtraced_pool_block block)
{
	struct memtraced_pool_block *place;

	if (2 * table->used >= table->room && !memtraced_pool_grow(table))
		return;
	place = &table->blocks[memtraced_pool_place(table, block.block)];
	table->used += !place->block;
	*place = block;
}

/* What was put behind it for want of a place moves up. */
static inline void memtraced_pool_remove(struct memtraced_pool_table *table, size_t i)
{
	size_t mask = table->room - 1, next = (i + 1) & mask;

	table->blocks[i].block = 0;
	table->used--;
	for (; table->blocks[next].block; next = (next + 1) & mask) {
		struct memtraced_pool_block block = table->blocks[next];

		table->blocks[next].block = 0;
		table->blocks[memtraced_pool_place(table, block.block)] = block;
	}
}

static inline void memtraced_pool_lock(struct memtraced_pool_table *table)
{
	while (__atomic_test_and_set(&table->lock, __ATOMIC_ACQUIRE))
		;
}

static inline void memtraced_pool_unlock(struct memtraced_pool_table *table)
{
	__atomic_clear(&table->lock, __ATOMIC_RELEASE);
}

MEMTRACED_FUNCTION void memtraced_pool_remember(const void *pool, const void *block, size_t size)
{
	struct memtraced_pool_table *table = &memtraced_pool_table;

	if (!memtraced_is_running())
		return;
	memtraced_pool_lock(table);
	{
		struct memtraced_pool_block entry = { ~(uintptr_t)block, ~(uintptr_t)pool, size };

		memtraced_pool_put(table, entry);
	}
	memtraced_pool_unlock(table);
}

MEMTRACED_FUNCTION void memtraced_pool_forget(const void *block)
{
	struct memtraced_pool_table *table = &memtraced_pool_table;

	if (!table->room)
		return;
	memtraced_pool_lock(table);
	{
		size_t i = memtraced_pool_place(table, ~(uintptr_t)block);

		if (table->blocks[i].block)
			memtraced_pool_remove(table, i);
	}
	memtraced_pool_unlock(table);
}

/*
 * Gives back each block of the pool that is not within [start, start + size), and cuts off what
 * sticks out of it.
 */
MEMTRACED_FUNCTION void memtraced_mempool_trim(const void *pool, const void *start, size_t size)
{
	struct memtraced_pool_table *table = &memtraced_pool_table;
	uintptr_t first = (uintptr_t)start, key = ~(uintptr_t)pool;

	if (!table->room)
		return;
	memtraced_pool_lock(table);
	for (size_t i = 0; i < table->room;) {
		struct memtraced_pool_block entry = table->blocks[i];
		uintptr_t begin = ~entry.block, last = begin + (entry.size ? entry.size - 1 : 0);
		int has_begin = begin - first < size, has_last = last - first < size;

		if (!entry.block || entry.pool != key || (has_begin && has_last)) {
			i++;
			continue;
		}
		memtraced_pool_remove(table, i); /* another may have come here */
		memtraced_freelike_block((void *)begin);
		if (!has_begin && !has_last)
			continue;
		begin = has_begin ? begin : first;
		entry.size = (has_last ? last : first + size - 1) - begin + 1;
		entry.block = ~begin;
		(void)memtraced_malloclike_block((void *)begin, entry.size);
		memtraced_pool_put(table, entry);
	}
	memtraced_pool_unlock(table);
}

/* The pool has another address from now on. */
MEMTRACED_FUNCTION void memtraced_move_mempool(const void *from, const void *to)
{
	struct memtraced_pool_table *table = &memtraced_pool_table;

	memtraced_pool_lock(table);
	for (size_t i = 0; i < table->room; i++)
		if (table->blocks[i].block && table->blocks[i].pool == ~(uintptr_t)from)
			table->blocks[i].pool = ~(uintptr_t)to;
	memtraced_pool_unlock(table);
}

/* The pool goes, with all that is left in it. */
static inline void memtraced_destroy_mempool(const void *pool)
{
	memtraced_mempool_trim(pool, 0, 0);
}

/* The pool hands out a block. Inlined, so that the stack begins with the allocator's function. */
__attribute__((__always_inline__)) static inline void *memtraced_mempool_alloc(const void *pool,
									       void *block,
									       size_t size)
{
	memtraced_pool_remember(pool, block, size);
	return memtraced_malloclike_block(block, size);
}

/* It was given back. */
static inline void memtraced_mempool_free(const void *pool, void *block)
{
	(void)pool;
	memtraced_pool_forget(block);
	memtraced_freelike_block(block);
}

/* It has another place or size. */
__attribute__((__always_inline__)) static inline void memtraced_mempool_change(const void *pool,
									       void *from, void *to,
									       size_t size)
{
	memtraced_mempool_free(pool, from);
	(void)memtraced_mempool_alloc(pool, to, size);
}

#ifdef __cplusplus
}
#endif

#endif
