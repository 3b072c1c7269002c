/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that wait when the program ends, and hold blocks on their stacks. */
#include "leaks.h"
#include <pthread.h>
#include <unistd.h>

static pthread_barrier_t ready;

static void *hold(void *arg)
{
	void *volatile held = malloc((size_t)arg);

	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return held;
}

LOSE lose(void)
{
	pthread_t thread;

	pthread_barrier_init(&ready, NULL, 4);
	for (size_t i = 1; i < 4; i++)
		pthread_create(&thread, NULL, hold, (void *)(1000 * i));
	pthread_barrier_wait(&ready);
	(void)!malloc(77);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
