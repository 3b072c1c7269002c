/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library with a variable that holds what it is given. */
#include "leaks.h"

static void *held;

void leaks_hold(void *block);

void leaks_hold(void *block)
{
	held = block;
	scrub();
}
