/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings of two and of seven blocks. */
#include "leaks.h"

static void ring(size_t n, size_t size)
{
	void **head = chain(n, size), **at = head;

	while (*at)
		at = *at;
	*at = head;
}

LOSE lose(void)
{
	ring(2, 16);
	ring(7, 72);
	ring(1, 32);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
