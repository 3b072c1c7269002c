/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What exit handlers free is not lost, what they allocate may be. */
#include "leaks.h"

static void *early, *late, *kept;

static void at_exit(void)
{
	free(early);
	early = NULL;
	(void)!malloc(88);
	kept = malloc(99);
}

static __attribute__((destructor)) void at_end(void)
{
	free(late);
	late = NULL;
}

LOSE lose(void)
{
	early = malloc(10);
	late = malloc(20);
	(void)!malloc(30);
}

int main(void)
{
	atexit(at_exit);
	lose();
	scrub();
	return 0;
}
