/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pointers into blocks, to their ends, and to their last bytes. */
#include "leaks.h"

static char *inside[3], *end, *last;

LOSE lose(void)
{
	for (int i = 0; i < 3; i++)
		inside[i] = (char *)malloc(100 + i) + 10 * (i + 1);
	end = (char *)malloc(48) + 48;
	last = (char *)malloc(64) + 63;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
