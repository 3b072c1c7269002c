/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pointers in anonymous mappings, private and shared, one of them gone. */
#include "leaks.h"
#include <sys/mman.h>

static void **map(int flags)
{
	return mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
}

LOSE lose(void)
{
	void **private = map(MAP_PRIVATE), **shared = map(MAP_SHARED), **gone = map(MAP_PRIVATE);

	private[100] = malloc(1001);
	shared[200] = malloc(1002);
	gone[300] = malloc(1003);
	munmap(gone, 65536);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
