/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Roots in .data, in .bss, in a function's own, and in what is constant after relocation. */
#include "leaks.h"

static void *data[3] = { data, NULL, NULL };
static void *bss[1000];

LOSE lose(void)
{
	static void *own;

	data[1] = malloc(11);
	bss[999] = malloc(22);
	own = malloc(33);
	data[2] = malloc(44);
	data[2] = NULL;
	(void)own;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
