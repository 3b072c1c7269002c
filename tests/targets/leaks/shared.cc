/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared pointers in a ring, which never are freed. */
#include "leaks.h"

#include <memory>

struct Node {
	std::shared_ptr<Node> other;
	long values[6] = {};
};

static std::shared_ptr<Node> *kept;

LOSE lose()
{
	for (int i = 0; i < 3; i++) {
		auto a = std::make_shared<Node>();
		auto b = std::make_shared<Node>();

		a->other = b;
		b->other = a;
	}
	kept = new std::shared_ptr<Node>(new Node);
}

int main()
{
	lose();
	scrub();
	return 0;
}
