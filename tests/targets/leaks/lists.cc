/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists and double-ended queues, global and lost. */
#include "leaks.h"

#include <deque>
#include <list>

static std::list<long> *kept;

LOSE lose()
{
	auto *lost = new std::list<long>(15, 4);

	kept = new std::list<long>(12, 5);
	(void)new std::deque<int>(1000, 6);
	lost->pop_front();
}

int main()
{
	lose();
	scrub();
	return 0;
}
