/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults PAGES: touches fresh pages by the first instruction of a function, one fault a page. Right
 * before it another function ends, as whose code its address must not be taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096

void touch(char *byte);

#ifdef __aarch64__
#define STORE "strb w1, [x0]\n"
#else
#define STORE "movb $1, (%rdi)\n"
#endif

__asm__(".text\n"
	".type before, @function\n"
	"before: ret\n"
	".size before, .-before\n"
	".globl touch\n"
	".type touch, @function\n"
	"touch: " STORE "ret\n"
	".size touch, .-touch\n");

int main(int argc, char **argv)
{
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	char *mem = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	if (mem == MAP_FAILED || madvise(mem, pages * PAGE, MADV_NOHUGEPAGE))
		return 1;
	for (size_t i = 0; i < pages; i++)
		touch(mem + i * PAGE);
	return 0;
}
