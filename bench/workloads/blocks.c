/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds live blocks: blocks COUNT READY makes COUNT blocks of 16 to 135 bytes, creates the file
 * READY, and keeps them until SIGTERM ends it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[1]) : 0;
	FILE *ready;
	void **last = NULL;

	if (count <= 0)
		return 2;
	for (long i = 0; i < count; i++) {
		void **block = malloc(16 + (size_t)(i % 120));

		if (!block)
			return 1;
		*block = last;
		last = block;
	}
	ready = fopen(argv[2], "we");
	if (!ready || fclose(ready) != 0)
		return 1;
	(void)pause(); /* only a signal ends it */
	return last == NULL;
}
