/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes that reach into the next chunk's header, beside freed chunks. */
#include "leaks.h"

static void *kept[8];

LOSE lose(void)
{
	void *between[8];

	for (int i = 0; i < 8; i++) {
		(void)!malloc(24 + 16 * i);
		between[i] = malloc(1100);
		kept[i] = malloc(24 + 32 * i);
	}
	for (int i = 0; i < 8; i++)
		free(between[i]);
	memset(between, 0, sizeof(between));
	/* from a chunk that was freed, whose lists' pointers memcheck knows not to be set */
	(void)!calloc(1, 24);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
