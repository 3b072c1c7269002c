/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calloc and reallocarray, of few and many. */
#include "leaks.h"

static void *kept;

LOSE lose(void)
{
	for (size_t i = 1; i < 12; i++)
		(void)!calloc(i, i);
	kept = reallocarray(NULL, 7, 9);
	(void)!reallocarray(calloc(3, 3), 100, 11);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
