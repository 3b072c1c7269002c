/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays of pointers: one lost with what it holds, one kept with gaps. */
#include "leaks.h"

static void **kept;

LOSE lose(void)
{
	void **lost = calloc(50, sizeof(void *));

	kept = calloc(50, sizeof(void *));
	for (int i = 0; i < 50; i++) {
		lost[i] = malloc(33);
		kept[i] = malloc(65);
	}
	for (int i = 0; i < 50; i += 5)
		kept[i] = NULL;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
