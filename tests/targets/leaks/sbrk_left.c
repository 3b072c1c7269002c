/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's own memory from sbrk(2), before and between the allocator's, which goes on in
 * memory from mmap since something else is mapped behind. What it points to is held; blocks that
 * are freed there hold nothing.
 */
#include "sbrk.h"
#include <sys/mman.h>

static void **own[2];

LOSE lose(void)
{
	uintptr_t end;

	own[0] = first_own_memory();
	own[1] = sbrk(4096);
	own[1][10] = calloc(1, 1002);
	end = ((uintptr_t)sbrk(0) + 65535) & ~(uintptr_t)65535;
	(void)sbrk((intptr_t)(end - (uintptr_t)sbrk(0)));
	/* Valgrind has something there already. */
	(void)mmap((void *)end, 65536, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	for (int i = 20; i < 40; i++)
		own[1][i] = calloc(1, 30000);
	own[0] = own[1] = NULL;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
