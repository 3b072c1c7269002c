/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thread-local variables, of the first thread and of one that waits. */
#include "leaks.h"
#include <pthread.h>
#include <unistd.h>

static __thread void *mine, *zeroed;
static pthread_barrier_t ready;

static void *hold(void *arg)
{
	mine = malloc(500);
	zeroed = malloc(600);
	zeroed = NULL;
	scrub();
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return arg;
}

LOSE lose(void)
{
	pthread_t thread;

	mine = malloc(300);
	zeroed = malloc(400);
	zeroed = NULL;
	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&thread, NULL, hold, NULL);
	pthread_barrier_wait(&ready);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
