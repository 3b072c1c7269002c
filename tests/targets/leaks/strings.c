/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of strings, some freed, some kept, some lost. */
#include "leaks.h"

static char *kept[10];

LOSE lose(void)
{
	char text[64];

	for (int i = 0; i < 30; i++) {
		char *copy;

		memset(text, 'a', sizeof(text));
		text[i + 1] = '\0';
		copy = i % 2 ? strdup(text) : strndup(text, 7);
		if (i % 3 == 0)
			kept[i / 3] = copy;
		else if (i % 3 == 1)
			free(copy);
	}
	memset(text, 0, sizeof(text));
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
