/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the C library keeps of the environment, and getline's buffer. */
#include "leaks.h"
#include <stdio.h>

static char *line;

LOSE lose(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t size = 0;

	setenv("LEAKS_A", "some value of a variable", 1);
	setenv("LEAKS_B", "another", 1);
	if (file && getline(&line, &size, file) > 0)
		fclose(file);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
