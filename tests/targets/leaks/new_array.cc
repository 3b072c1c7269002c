/* SPDX-License-Identifier: GPL-2.0-or-later */
/* new T[] of what has a destructor: the program's pointer is behind a cookie. */
#include "leaks.h"

struct Owner {
	char *name = strdup("owned");
	~Owner()
	{
		free(name);
	}
};

static Owner *kept;

LOSE lose()
{
	kept = new Owner[6];
	(void)new Owner[4];
}

int main()
{
	lose();
	scrub();
	return 0;
}
