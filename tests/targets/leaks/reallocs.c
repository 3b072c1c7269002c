/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that grew and shrank, in their place and elsewhere. */
#include "leaks.h"

static void *kept;

LOSE lose(void)
{
	char *p = NULL, *q;

	for (size_t n = 10; n < 5000; n *= 2)
		p = realloc(p, n);
	q = malloc(4000);
	q = realloc(q, 17);
	kept = realloc(malloc(20), 300000);
	p = q = NULL;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
