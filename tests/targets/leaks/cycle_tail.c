/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ring with a tail behind it, and one with a way into it. */
#include "leaks.h"

LOSE lose(void)
{
	void **ring = chain(4, 48), **at = ring, **way;

	while (*at)
		at = *at;
	*at = ring;
	ring[1] = chain(3, 64);
	way = chain(2, 80);
	at = chain(3, 96);
	*(void **)*way = at;
	*(void **)*(void **)*at = at;
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
