/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of several bases, held by a pointer to the second. */
#include "leaks.h"

struct First {
	virtual ~First() = default;
	long first = 1;
};

struct Second {
	virtual ~Second() = default;
	virtual int name()
	{
		return 2;
	}
	long second = 2;
};

struct Both : First, Second {
	int name() override
	{
		return 3;
	}
	char *text = strdup("of both");
};

static Second *kept;

LOSE lose()
{
	kept = new Both;
	(void)new Both;
}

int main()
{
	lose();
	scrub();
	return 0;
}
