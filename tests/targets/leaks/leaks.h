/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For programs whose leaks memcheck and memtraced must agree on. What each loses is in a function
 * of its own, LOSE, and its stale words are written over by `scrub`: memcheck knows that nobody
 * has set them since, memtraced cannot.
 */
#ifndef MEMTRACED_TESTS_LEAKS_H
#define MEMTRACED_TESTS_LEAKS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LOSE static __attribute__((noinline)) void

/*
 * Zeroes the stack below the caller's frame, where lost pointers were, without a hole (the return
 * probes of Linux push registers there, too), and the registers that a call may change.
 */
#if defined(__x86_64__)
static __attribute__((naked, noinline)) void scrub(void)
{
	__asm__("sub $65536, %rsp\n\t"
		"mov %rsp, %rdi\n\t"
		"mov $65536, %ecx\n\t"
		"xor %eax, %eax\n\t"
		"cld\n\t"
		"rep stosb\n\t"
		"mov %rdi, %rsp\n\t"
		"xor %edx, %edx\n\t"
		"xor %esi, %esi\n\t"
		"xor %edi, %edi\n\t"
		"xor %r8d, %r8d\n\t"
		"xor %r9d, %r9d\n\t"
		"xor %r10d, %r10d\n\t"
		"xor %r11d, %r11d\n\t"
		"ret");
}
#else
static __attribute__((noinline)) void scrub(void)
{
	volatile char room[65536];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
#if defined(__aarch64__)
	__asm__ volatile("mov x1, #0\n\tmov x2, #0\n\tmov x3, #0\n\tmov x4, #0\n\t"
			 "mov x5, #0\n\tmov x6, #0\n\tmov x7, #0\n\tmov x9, #0\n\t"
			 "mov x10, #0\n\tmov x11, #0\n\tmov x12, #0\n\tmov x13, #0\n\t"
			 "mov x14, #0\n\tmov x15, #0\n\tmov x16, #0\n\tmov x17, #0" ::
				 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x9", "x10", "x11",
				   "x12", "x13", "x14", "x15", "x16", "x17");
#endif
}
#endif

/* A chain of n nodes of `size` bytes, the pointer to the next one first; its head. */
static inline void **chain(size_t n, size_t size)
{
	void **head = NULL;

	while (n-- > 0) {
		void **node = (void **)malloc(size);

		memset(node, 0, size);
		*node = head;
		head = node;
	}
	return head;
}

#endif
