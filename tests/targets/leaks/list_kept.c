/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list with its head in .bss, and one that has lost its second half. */
#include "leaks.h"

static void **kept, **halved;

LOSE lose(void)
{
	void **at;

	kept = chain(30, 40);
	halved = at = chain(30, 56);
	for (int i = 0; i < 14; i++)
		at = *at;
	*at = NULL;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
