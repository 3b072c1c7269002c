/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A signal that nobody handles. */
#include "leaks.h"
#include <signal.h>

static void *kept;

LOSE lose(void)
{
	kept = malloc(51);
	(void)!malloc(52);
}

int main(void)
{
	lose();
	scrub();
	raise(SIGTERM);
	return 0;
}
