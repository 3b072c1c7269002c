/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of pthread_setspecific, in the first places and beyond them. */
#include "leaks.h"
#include <pthread.h>

LOSE lose(void)
{
	pthread_key_t keys[60];

	for (int i = 0; i < 60; i++)
		pthread_key_create(&keys[i], NULL);
	pthread_setspecific(keys[3], malloc(111));
	pthread_setspecific(keys[50], malloc(222));
	pthread_setspecific(keys[7], malloc(333));
	pthread_setspecific(keys[7], NULL);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
