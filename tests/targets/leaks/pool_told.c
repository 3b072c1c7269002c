/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pool that tells memtraced and Valgrind of its blocks: 2 are kept, 3 lost and 2 given back when
 * it asks for a check; then one more is lost.
 */
#include "include/memtraced.h"
#include "leaks.h"

#include <sys/mman.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MALLOCLIKE_BLOCK(block, size, redzone, zeroed)
#define VALGRIND_FREELIKE_BLOCK(block, redzone)
#define VALGRIND_DO_LEAK_CHECK
#endif

#define ARENA (1 << 16)

static char *arena, *next;
static void *kept[2];

static void *pool_get(size_t size)
{
	void *block = memtraced_malloclike_block(next, size);

	VALGRIND_MALLOCLIKE_BLOCK(block, size, 0, 0);
	next += (size + 31) / 16 * 16; /* no block ends where the next free byte is */
	return block;
}

static void pool_put(void *block)
{
	memtraced_freelike_block(block);
	VALGRIND_FREELIKE_BLOCK(block, 0);
}

LOSE work(void)
{
	kept[0] = pool_get(100);
	kept[1] = pool_get(101);
	for (size_t i = 0; i < 3; i++)
		(void)pool_get(40 + i);
	pool_put(pool_get(7));
	pool_put(pool_get(8));
}

int main(void)
{
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		return 1;
	next = arena + 16;
	work();
	scrub();
	memtraced_do_leak_check();
	VALGRIND_DO_LEAK_CHECK;
	kept[1] = NULL;
	scrub();
	return 0;
}
