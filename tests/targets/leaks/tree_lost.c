/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binary trees, lost and kept, of which one has lost a branch. */
#include "leaks.h"

struct node {
	struct node *left, *right;
	char text[16];
};

static struct node *kept, *pruned;

static struct node *grow(int depth)
{
	struct node *node = depth ? malloc(sizeof(*node)) : NULL;

	if (!node)
		return NULL;
	memset(node, 0, sizeof(*node));
	node->left = grow(depth - 1);
	node->right = grow(depth - 1);
	return node;
}

LOSE lose(void)
{
	kept = grow(5);
	pruned = grow(6);
	pruned->left->right = NULL;
	(void)grow(4);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
