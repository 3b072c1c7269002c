/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that the allocator maps one by one. */
#include "leaks.h"

static char *kept;

LOSE lose(void)
{
	char **lost = malloc(4000000);

	lost[400000] = malloc(200000);
	kept = malloc(1000000);
	*(void **)(kept + 500000) = malloc(300);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
