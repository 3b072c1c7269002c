/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams of the standard library, whose locales are kept by it. */
#include "leaks.h"

#include <iostream>
#include <sstream>

static std::ostringstream *kept;

LOSE lose()
{
	kept = new std::ostringstream;
	*kept << "some text that is longer than what a string holds in itself: " << 42;
	std::cout << kept->str() << std::endl;
	(void)new std::istringstream("lost, and this is longer than what a string holds");
}

int main()
{
	lose();
	scrub();
	return 0;
}
