/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exceptions that are caught, with a block lost on the way. */
#include "leaks.h"

#include <stdexcept>
#include <string>

static int caught;

static void fail(int i)
{
	char *lost = new char[40 + i];

	lost[0] = 'x';
	throw std::runtime_error(std::string(60, 'e'));
}

LOSE lose()
{
	for (int i = 0; i < 5; i++) {
		try {
			fail(i);
		} catch (const std::exception &) {
			caught++;
		}
	}
}

int main()
{
	lose();
	scrub();
	return caught == 5 ? 0 : 1;
}
