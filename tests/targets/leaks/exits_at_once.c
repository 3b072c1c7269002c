/* SPDX-License-Identifier: GPL-2.0-or-later */
/* _exit(), which runs no handlers. */
#include "leaks.h"
#include <unistd.h>

static void *kept;

LOSE lose(void)
{
	kept = malloc(140);
	(void)!malloc(150);
}

int main(void)
{
	lose();
	scrub();
	_exit(0);
}
