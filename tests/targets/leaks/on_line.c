/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For each line that it reads: loses 100 bytes, keeps 70, and says so. With an argument it does so
 * in another thread than the first one, which has ended.
 */
#include "leaks.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void **kept;

LOSE lose(void)
{
	void **more = malloc(70);

	memset(more, 0, 70);
	*more = kept;
	kept = more;
	(void)!malloc(100);
}

static void *read_lines(void *first)
{
	char c;

	if (first)
		pthread_join(*(pthread_t *)first, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	while (read(0, &c, 1) == 1) {
		lose();
		scrub();
		puts("done");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static pthread_t first, thread;

	(void)argv;
	if (argc > 1) {
		first = pthread_self();
		pthread_create(&thread, NULL, read_lines, &first);
		pthread_exit(NULL);
	}
	read_lines(NULL);
	return 0;
}
