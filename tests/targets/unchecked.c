/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A correct program with an allocator of its own. The allocator has a private entry, unchecked(),
 * whose blocks are given back by free() and realloc(): each exactly once.
 *
 * Prints how many blocks of the private entry were given back.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { N_BLOCKS = 64, BLOCK = 4096 };

static _Alignas(16) char pool[N_BLOCKS][BLOCK];
static unsigned char used[N_BLOCKS];

static inline void *take(size_t n)
{
	for (int i = 0; n <= BLOCK && i < N_BLOCKS; i++)
		if (!used[i]) {
			used[i] = 1;
			return pool[i];
		}
	return NULL;
}

__attribute__((noinline)) void *malloc(size_t n)
{
	return take(n);
}

__attribute__((noinline)) static void *unchecked(size_t n)
{
	return take(n);
}

__attribute__((noinline)) void free(void *p)
{
	if (p)
		used[((char *)p - pool[0]) / BLOCK] = 0;
}

void *calloc(size_t n, size_t size)
{
	void *p = malloc(n * size);

	return p ? memset(p, 0, n * size) : p;
}

void *realloc(void *p, size_t n)
{
	return p ? p : malloc(n);
}

int main(void)
{
	void *volatile first = malloc(20);
	void *volatile second;

	free(first);
	for (int i = 0; i < 5; i++) { /* at the address of the block that was freed */
		first = unchecked(20);
		free(first);
	}
	first = unchecked(30);
	second = unchecked(31); /* at an address that was never a block */
	free(second);
	first = realloc(first, 40);
	free(first);
	puts("7");
	return 0;
}
