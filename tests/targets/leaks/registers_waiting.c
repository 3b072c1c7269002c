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
