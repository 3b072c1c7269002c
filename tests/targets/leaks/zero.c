/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of no bytes, kept and lost. */
#include "leaks.h"

static void *kept[3];

LOSE lose(void)
{
	for (int i = 0; i < 3; i++)
		kept[i] = malloc(0);
	for (int i = 0; i < 4; i++)
		(void)!malloc(0);
	(void)!calloc(0, 8);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
