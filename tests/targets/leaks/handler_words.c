/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signal handlers that run on stacks of their own: what the interrupted functions hold is held,
 * what is below their stack pointers is lost. The first thread's such stack is a variable of an
 * outer function, above what is interrupted; another thread's is a mapping.
 */
#include "leaks.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_SIZE (64 * 1024)

static volatile int ready;

static void handle(int number)
{
	if (number == SIGUSR2)
		_exit(0);
	ready = 1;
	for (;;)
		pause();
}

/* Its words are further below than what `scrub` zeroes. */
static __attribute__((noinline)) void use_stack(size_t size)
{
	void *volatile held[12 * 1024];

	for (size_t i = 0; i < 4; i++)
		held[i] = calloc(1, size + i);
	(void)held[0];
}

static __attribute__((noinline)) void hold_and_raise(int number, size_t size)
{
	void *volatile held = calloc(1, size + 8);

	use_stack(size);
	scrub();
	raise(number);
	(void)held;
}

static __attribute__((noinline)) void handle_on(void *stack, int number, size_t size)
{
	stack_t other = { .ss_sp = stack, .ss_size = STACK_SIZE };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(number, &action, NULL);
	hold_and_raise(number, size);
}

static void *handle_on_mapping(void *arg)
{
	handle_on(mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0),
		  SIGUSR1, 1000);
	return arg;
}

int main(void)
{
	char stack[STACK_SIZE];
	pthread_t thread;

	memset(stack, 0, sizeof(stack));
	pthread_create(&thread, NULL, handle_on_mapping, NULL);
	while (!ready)
		sched_yield();
	handle_on(stack, SIGUSR2, 2000);
	return 0;
}
