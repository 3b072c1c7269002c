/* SPDX-License-Identifier: GPL-2.0-or-later */
/* operator new in all its forms, kept and lost. */
#include "leaks.h"

#include <new>

struct alignas(64) Wide {
	char bytes[200];
};

static int *kept;
static Wide *wide;

LOSE lose()
{
	kept = new int[7];
	(void)new long(3);
	(void)new (std::nothrow) char[55];
	(void)new Wide;
	wide = new Wide[2];
}

int main()
{
	lose();
	scrub();
	return 0;
}
