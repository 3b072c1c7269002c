/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A block whose address is nowhere but in a register when the program ends. */
#include "leaks.h"
#include <sys/syscall.h>

LOSE lose(void)
{
	(void)!malloc(31);
}

int main(void)
{
	uintptr_t hidden;

	lose();
	hidden = ~(uintptr_t)malloc(123);
	scrub();
#if defined(__x86_64__)
	__asm__ volatile(
		"mov %0, %%r12; not %%r12; xor %%edi, %%edi; mov %1, %%eax; syscall" ::"r"(hidden),
		"i"(SYS_exit_group)
		: "r12", "rdi", "rax", "rcx", "r11");
#elif defined(__aarch64__)
	__asm__ volatile(
		"mov x20, %0\n\tmvn x20, x20\n\tmov x0, #0\n\tmov x8, %1\n\tsvc #0" ::"r"(hidden),
		"i"(SYS_exit_group)
		: "x20", "x0", "x8");
#endif
	return hidden == 0;
}
