/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hundred thousand blocks, each sixteenth lost. */
#include "leaks.h"

static void **table;

LOSE lose(void)
{
	table = calloc(100000, sizeof(void *));
	for (size_t i = 0; i < 100000; i++)
		table[i] = malloc(8 + i % 120);
	for (size_t i = 0; i < 100000; i += 16)
		table[i] = NULL;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
