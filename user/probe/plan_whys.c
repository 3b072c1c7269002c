/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/plan_whys.h"

#include <stddef.h>

const char why_ifunc[] = "which code it is gets decided when the program starts (ifunc)";
const char why_no_code[] = "its symbol points to no code";
const char why_forwards[] = "it forwards to a function that is probed";
const char why_indirect[] = "it has an indirect jump";
const char why_leaves[] = "it jumps to a function that is not an allocator's";
const char why_unreadable[] = "some of its code cannot be decoded";
const char why_refused[] = "the kernel puts no probe, or no safe one, on what it begins with";
const char why_large[] = "it has too many instructions";
const char why_arguments[] =
	"its arguments are in no place that can be read: register, constant, memory by registers";

const char why_variable[] = "an argument is in a variable that no symbol, or more than one, tells";

static const char *const whys[] = {
	NULL,		why_ifunc,   why_no_code, why_forwards,	 why_indirect, why_leaves,
	why_unreadable, why_refused, why_large,	  why_arguments, why_variable,
};
#define N_WHYS (sizeof(whys) / sizeof(whys[0]))

uint8_t plan_why_number(const char *why)
{
	for (uint8_t i = 1; i < N_WHYS; i++)
		if (whys[i] == why)
			return i;
	return 0;
}

const char *plan_why(uint8_t number)
{
	return number < N_WHYS ? whys[number] : NULL;
}
