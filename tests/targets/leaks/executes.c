/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loses 33 bytes and keeps 44, then executes itself, which loses 55. */
#include "leaks.h"

#include <unistd.h>

static void *kept;

static __attribute__((noinline)) void lose(int again)
{
	(void)!malloc(again ? 55 : 33);
	kept = again ? NULL : malloc(44);
}

int main(int argc, char **argv)
{
	lose(argc > 1);
	scrub();
	if (argc > 1)
		return 0;
	execl("/nonexistent", argv[0], "again", NULL);
	execl(argv[0], argv[0], "again", NULL);
	return 1;
}
