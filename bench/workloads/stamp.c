/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does nothing, as /bin/true does, but says when: stamp OUT writes the CLOCK_MONOTONIC ns of its
 * main, so that what a tool takes before the program and after it can be told apart.
 */
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct timespec now;
	FILE *file;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
	file = argc == 2 ? fopen(argv[1], "we") : NULL;
	if (!file)
		return 2;
	(void)fprintf(file, "%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
	return fclose(file) == 0 ? 0 : 1;
}
