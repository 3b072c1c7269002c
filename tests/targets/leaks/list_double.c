/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list that points both ways: the lowest block leads. */
#include "leaks.h"

struct node {
	struct node *next, *prev;
	long value;
};

LOSE lose(void)
{
	struct node *last = NULL;

	for (int i = 0; i < 25; i++) {
		struct node *node = malloc(sizeof(*node));

		*node = (struct node){ .prev = last, .value = i };
		if (last)
			last->next = node;
		last = node;
	}
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
