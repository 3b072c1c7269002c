/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's own memory from sbrk(2): before what the allocator takes, between its parts, and
 * behind them. What it points to is held; blocks that are freed there hold nothing.
 */
#include "sbrk.h"

static void **own[3];

LOSE lose(void)
{
	own[0] = first_own_memory();
	for (int i = 1; i < 3; i++) {
		own[i] = sbrk(4096);
		own[i][10] = calloc(1, 1001 + i);
		/* more than there is: the arena goes on behind */
		for (int k = 20; i == 1 && k < 23; k++)
			own[i][k] = calloc(1, 60000);
	}
	own[0] = own[1] = own[2] = NULL;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
