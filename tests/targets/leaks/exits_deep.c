/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit() is called far down: what the frames above hold is not lost. */
#include "leaks.h"

static int down(int depth)
{
	void *volatile held = malloc(64 + depth);
	int r;

	if (depth == 0 && held)
		exit(0);
	r = depth == 0 ? 1 : down(depth - 1);
	return held ? r : 1;
}

int main(void)
{
	return down(12);
}
