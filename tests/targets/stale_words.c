/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stale_words: loses a block of 777 bytes, whose address is still in a block that it holds: from
 * before that block was handed out, as the program has not set that word since.
 */
#include "tests/targets/leaks/leaks.h"

static void **volatile held;

LOSE lose(void)
{
	void **before = (void **)malloc(200);

	memset(before, 0, 200);
	before[10] = calloc(1, 777);
	free(before);
	held = (void **)malloc(200);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
