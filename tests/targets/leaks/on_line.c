/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For each line that it reads: loses 100 bytes, keeps 70, and says so. */
#include "leaks.h"

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

int main(void)
{
	char c;

	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	while (read(0, &c, 1) == 1) {
		lose();
		scrub();
		puts("done");
	}
	return 0;
}
