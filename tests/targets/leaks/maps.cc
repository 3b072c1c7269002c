/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees and hash tables of the standard library. */
#include "leaks.h"

#include <map>
#include <string>
#include <unordered_map>

static std::map<int, std::string> *kept;

LOSE lose()
{
	auto *lost = new std::unordered_map<int, std::string>;

	kept = new std::map<int, std::string>;
	for (int i = 0; i < 40; i++) {
		(*kept)[i] = std::string(i, 'k');
		(*lost)[i] = std::string(2 * i, 'l');
	}
}

int main()
{
	lose();
	scrub();
	return 0;
}
