/* SPDX-License-Identifier: GPL-2.0-or-later */
/* new T[0] of what has a destructor: the pointer is behind the block. */
#include "leaks.h"

struct Owner {
	long value = 1;
	~Owner()
	{
		value = 0;
	}
};

static Owner *kept;
static size_t none;

LOSE lose()
{
	kept = new Owner[none];
}

int main()
{
	lose();
	scrub();
	return 0;
}
