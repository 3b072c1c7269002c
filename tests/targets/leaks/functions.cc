/* SPDX-License-Identifier: GPL-2.0-or-later */
/* std::function with what it captured. */
#include "leaks.h"

#include <functional>
#include <vector>

static std::function<size_t()> *kept;

LOSE lose()
{
	std::vector<int> numbers(100, 1);

	kept = new std::function<size_t()>([numbers] { return numbers.size(); });
	(void)new std::function<size_t()>([numbers] { return numbers.size() + 1; });
}

int main()
{
	lose();
	scrub();
	return 0;
}
