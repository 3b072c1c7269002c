/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that have ended: what their stacks held is lost. */
#include "leaks.h"
#include <pthread.h>

static void *lose_all(void *arg)
{
	void *volatile held[4];

	for (int i = 0; i < 4; i++)
		held[i] = malloc((size_t)arg + i);
	return held[0] ? NULL : arg;
}

LOSE lose(void)
{
	for (size_t i = 1; i < 6; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, lose_all, (void *)(100 * i));
		pthread_join(thread, NULL);
	}
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
