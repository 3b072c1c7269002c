/* SPDX-License-Identifier: 0BSD */
/*
 * For programs with an allocator of their own: what memtraced is to know of its blocks, as
 * VALGRIND_MALLOCLIKE_BLOCK and the like tell it to Valgrind. Copy this file, or include it where
 * it is installed; it needs no library, and costs a call that returns at once where memtraced does
 * not look.
 *
 * memtraced finds these functions by their names: the program must not be stripped of its symbol
 * table (`strip`, `-s`), unless they are exported (-rdynamic, or in a shared library).
 */
#ifndef MEMTRACED_H
#define MEMTRACED_H

#include <stddef.h>

/* One for the whole program, never inlined, never known to do nothing. */
#define MEMTRACED_FUNCTION                                                                         \
	__attribute__((__weak__, __noinline__, __used__, __visibility__("default")))

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A block of a pool was handed out. Its memory should be from mmap(2), or a part of a block of
 * malloc behind the first bytes of that: two blocks cannot begin at one address. Returns the block.
 */
MEMTRACED_FUNCTION void *memtraced_malloclike_block(void *block, size_t size)
{
	__asm__ volatile("" : "+r"(block) : "r"(size) : "memory");
	return block;
}

/* It was given back. */
MEMTRACED_FUNCTION void memtraced_freelike_block(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

/* With --leak-check: the process is checked now. */
MEMTRACED_FUNCTION void memtraced_do_leak_check(void)
{
	__asm__ volatile("" : : : "memory");
}

/* The same; the sums alone are shown. */
MEMTRACED_FUNCTION void memtraced_do_quick_leak_check(void)
{
	__asm__ volatile("" : : : "memory");
}

/* The same; what has grown since the check before is shown. */
MEMTRACED_FUNCTION void memtraced_do_added_leak_check(void)
{
	__asm__ volatile("" : : : "memory");
}

/* The same; what has grown or shrunk since the check before is shown. */
MEMTRACED_FUNCTION void memtraced_do_changed_leak_check(void)
{
	__asm__ volatile("" : : : "memory");
}

#ifdef __cplusplus
}
#endif

#endif
