/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loses lists and a name; docs/guide/leaks.md shows what the leak check says of it. */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	char text[24];
};

static struct node *add(struct node *next)
{
	struct node *node = malloc(sizeof(*node));

	memset(node, 0, sizeof(*node));
	node->next = next;
	return node;
}

static void lose(void)
{
	add(add(NULL));
}

static char *name;

int main(void)
{
	name = strdup("still reachable");
	for (int i = 0; i < 3; i++)
		lose();
	free(malloc(24));
	memset(alloca(512), 0, 512); /* no stale words */
	return 0;
}
