/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Twenty blocks of 40,000 bytes, all lost. */
#include "leaks.h"

LOSE lose(void)
{
	for (int i = 0; i < 20; i++)
		memset(malloc(40000), 0, 40000);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
