/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nine shapes of memcheck's manual. */
#include "leaks.h"

static void *r1, *r2, *r5, *r6, *r7, *r8;

static void **block(void)
{
	return calloc(1, 16);
}

LOSE lose(void)
{
	void **a;

	r1 = block();
	r2 = a = block();
	a[0] = block();
	(void)block();
	a = block();
	a[0] = block();
	r5 = (char *)block() + 8;
	r6 = a = block();
	a[0] = (char *)block() + 8;
	a = block();
	r7 = (char *)a + 8;
	a[0] = block();
	a = block();
	r8 = (char *)a + 8;
	a[0] = (char *)block() + 8;
	a = block();
	a[0] = (char *)block() + 8;
}

int main(void)
{
	lose();
	scrub();
	return r1 && r2 && r5 && r6 && r7 && r8 ? 0 : 1;
}
