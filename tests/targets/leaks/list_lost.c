/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list whose head is lost. */
#include "leaks.h"

LOSE lose(void)
{
	(void)chain(20, 24);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
