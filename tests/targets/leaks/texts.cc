/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings, short and long. */
#include "leaks.h"

#include <string>

static std::string *kept;
static const char *inside;

LOSE lose()
{
	kept = new std::string(300, 'k');
	inside = (new std::string(200, 'i'))->c_str();
	(void)new std::string(100, 'l');
	(void)new std::string("short");
}

int main()
{
	lose();
	scrub();
	return 0;
}
