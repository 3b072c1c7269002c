/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For programs that have memory of their own from sbrk(2). */
#ifndef MEMTRACED_TESTS_LEAKS_SBRK_H
#define MEMTRACED_TESTS_LEAKS_SBRK_H

#include "leaks.h"
#include <unistd.h>

/* Before the allocator has any: it holds two blocks; what a freed block points to is lost. */
static inline void **first_own_memory(void)
{
	void **own = sbrk(4096), **freed;

	own[10] = calloc(1, 1001);
	freed = (void **)malloc(3000);
	memset(freed, 0, 3000);
	freed[100] = calloc(1, 555);
	own[20] = calloc(1, 333);
	free(freed);
	return own;
}

#endif
