/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's own malloc and realloc before the C library's, which are left, interrupted and
 * switched away from when the program says so: see nesting.h.
 */
#include "tests/targets/nesting.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *malloc(size_t size);
extern void *realloc(void *block, size_t size);

void (*volatile nesting_hook)(void);

static __attribute__((noinline)) void run_hook(void)
{
	void (*hook)(void) = nesting_hook;

	nesting_hook = NULL;
	hook();
}

void *malloc(size_t size)
{
	void *block;

	if (nesting_hook)
		run_hook();
	block = __libc_malloc(size);
	return block;
}

void *realloc(void *block, size_t size)
{
	void *moved;

	if (nesting_hook)
		run_hook();
	moved = __libc_realloc(block, size);
	return moved;
}

void *uncounted_realloc(void *block, size_t size) __attribute__((alias("realloc")));
