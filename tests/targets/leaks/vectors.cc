/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Vectors, and vectors of vectors. */
#include "leaks.h"

#include <vector>

static std::vector<std::vector<int>> *kept;

LOSE lose()
{
	auto *lost = new std::vector<std::vector<int>>(9, std::vector<int>(20, 1));

	kept = new std::vector<std::vector<int>>(5, std::vector<int>(50, 2));
	lost->clear();
	lost->push_back(std::vector<int>(33, 3));
}

int main()
{
	lose();
	scrub();
	return 0;
}
