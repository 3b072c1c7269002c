/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that wait, below whose stack pointers are words of functions that have returned: what
 * these point to is lost, what is above is held. Stacks of glibc's making, with a guard and
 * without, and the program's own: a mapping, and a block.
 */
#include "leaks.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_SIZE (256 * 1024)

static volatile int ready;

/* Its words are further below than what `scrub` zeroes. */
static __attribute__((noinline)) void use_stack(size_t size)
{
	void *volatile held[12 * 1024];

	for (size_t i = 0; i < 4; i++)
		held[i] = calloc(1, size + i);
	(void)held[0];
}

static void *wait_for_end(void *arg)
{
	void *volatile held = calloc(1, (size_t)arg + 8);

	use_stack((size_t)arg);
	scrub();
	ready++;
	for (;;)
		pause();
	return held;
}

LOSE lose(void)
{
	void *stacks[4] = { NULL, NULL,
			    mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			    calloc(1, STACK_SIZE + 8192) };

	for (size_t i = 0; i < 4; i++) {
		pthread_attr_t attr;
		pthread_t thread;

		pthread_attr_init(&attr);
		if (i == 1)
			pthread_attr_setguardsize(&attr, 0);
		/* what the block holds before the stack is no stack */
		if (i == 3)
			*(void **)stacks[i] = calloc(1, 777);
		if (stacks[i])
			pthread_attr_setstack(&attr, (char *)stacks[i] + (i == 3 ? 4096 : 0),
					      STACK_SIZE);
		pthread_create(&thread, &attr, wait_for_end, (void *)(1000 * (i + 1)));
		while (ready <= (int)i)
			sched_yield();
	}
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
