/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for frames.c, built twice without frame pointers: the same code at the same addresses,
 * but with frames of other sizes (ROOM), so that the one's unwind rows are wrong for the other.
 */
#include <stddef.h>
#include <stdlib.h>

void *outer(void);

__attribute__((noinline, noclone)) static void *INNER(size_t size)
{
	volatile char bytes[ROOM];
	void *block;

	bytes[0] = (char)size;
	block = malloc(size);
	bytes[ROOM - 1] = bytes[0];
	return block;
}

void *outer(void)
{
	volatile char bytes[2 * ROOM];
	void *block;

	bytes[0] = 1;
	block = INNER(SIZE);
	bytes[2 * ROOM - 1] = bytes[0];
	return block;
}

#if defined(ROWS) && defined(__x86_64__)
/* As many unwind rows, each of STEP bytes of code: the stack pointer goes up and down. */
#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)
__asm__(".text\n"
	".cfi_startproc\n"
	".rept " TEXT(ROWS) " / 2\n"
			    ".fill " TEXT(STEP) ", 1, 0x90\n"
						".cfi_def_cfa_offset 16\n"
						".fill " TEXT(STEP) ", 1, 0x90\n"
								    ".cfi_def_cfa_offset 8\n"
								    ".endr\n"
								    ".cfi_endproc\n");
#endif
