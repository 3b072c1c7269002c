/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loses 777 bytes, whose address is only left right below the stack pointer when a function is
 * entered, and 9 bytes, whose address is in the register of a result. With an argument it executes
 * /bin/true then, else it ends by _exit.
 */
#include "leaks.h"

#include <unistd.h>

LOSE lose(void)
{
	void *volatile block = malloc(777);

	(void)block;
}

/* For --leak-check-at. */
__attribute__((noinline)) void looked_at(void)
{
	__asm__ volatile("");
}

/* Those of arguments are not in use, either, but of a function it is not known how many it has. */
static inline __attribute__((always_inline)) void clear_arguments(void)
{
#if defined(__x86_64__)
	__asm__ volatile("xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi;"
			 "xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d" ::
				 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10");
#endif
}

int main(int argc, char **argv)
{
	char *words[] = { "/bin/true", NULL };

	(void)argv;
	scrub();
	lose();
	if (argc > 1) {
		(void)!malloc(9);
		execv(words[0], words);
	}
	(void)!malloc(9);
	clear_arguments();
	looked_at();
	_exit(0);
}
