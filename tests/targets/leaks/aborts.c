/* SPDX-License-Identifier: GPL-2.0-or-later */
/* abort(): the frames of main and of what it called are still there. */
#include "leaks.h"

static __attribute__((noinline)) void fail(void)
{
	void *volatile held = malloc(512);

	if (held)
		abort();
}

LOSE lose(void)
{
	(void)!malloc(256);
}

int main(void)
{
	lose();
	scrub();
	fail();
	return 0;
}
