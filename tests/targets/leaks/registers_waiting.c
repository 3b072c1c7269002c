/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A block whose address is nowhere but in a register of a thread that waits. */
#include "leaks.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

static volatile int ready;

static void *hold(void *arg)
{
	uintptr_t hidden = ~(uintptr_t)malloc(321);

	scrub();
#if defined(__x86_64__)
	__asm__ volatile(
		"mov %0, %%r12; not %%r12; movl $1, %2; 1: mov %1, %%eax; syscall; jmp 1b" ::"r"(
			hidden),
		"i"(SYS_pause), "m"(ready)
		: "r12", "rax", "rcx", "r11");
#elif defined(__aarch64__)
	__asm__ volatile("mov x20, %0\n\tmvn x20, x20\n\tmov w9, #1\n\tstr w9, %2\n\t"
			 "1: mov x0, #0\n\tmov x1, #0\n\tmov x2, #0\n\tmov x3, #0\n\t"
			 "mov x8, %1\n\tsvc #0\n\tb 1b" ::"r"(hidden),
			 "i"(SYS_ppoll), "m"(ready)
			 : "x20", "x0", "x1", "x2", "x3", "x8", "x9");
#endif
	return arg;
}

LOSE lose(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, hold, NULL);
	while (!ready)
		sched_yield();
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
