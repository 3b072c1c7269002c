/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams that are left open, and the buffers of standard output. */
#include "leaks.h"
#include <stdio.h>

static FILE *kept;

LOSE lose(void)
{
	char line[100];

	kept = fopen("/proc/self/maps", "re");
	if (kept && fgets(line, sizeof(line), kept))
		puts("a line");
	memset(line, 0, sizeof(line));
	(void)!malloc(9);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
