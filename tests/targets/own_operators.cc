/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_operators [N]: a program that has replaced operator new and delete of one object alone, as
 * C++ lets it: those of arrays, with sizes and with nothrow are the run-time library's and must
 * lead to its own. Its blocks have a header, so that one that came or went another way is noticed.
 */
#include "tests/targets/target.h"

#include <memory>
#include <new>

/* That the one with a size is left to the library is what this is about. */
#pragma GCC diagnostic ignored "-Wsized-deallocation"

static constexpr uint64_t MAGIC = 0x6f776e206e657721;

struct header {
	uint64_t magic, size;
};

static uint64_t live;

void *operator new(size_t size)
{
	auto *block = static_cast<header *>(malloc(sizeof(header) + size));

	if (!block)
		throw std::bad_alloc();
	*block = { MAGIC, size };
	live++;
	return block + 1;
}

void operator delete(void *block) noexcept
{
	auto *its = static_cast<header *>(block) - 1;

	if (!block)
		return;
	CHECK(its->magic == MAGIC);
	its->magic = 0;
	live--;
	free(its);
}

struct one {
	char bytes[40];
};

/* The optimiser may drop a new-expression whose result it sees deleted. */
template <typename T> static T *seen(T *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 10000);

	for (uint64_t i = 0; i < n; i++) {
		one *single = seen(new one), *quiet = seen(new (std::nothrow) one);
		one *array = seen(new one[1 + i % 7]),
		    *quiet_array = seen(new (std::nothrow) one[3]);

		CHECK(live == 4);
		delete single; /* by its size */
		delete quiet;
		delete[] array;
		operator delete[](quiet_array, std::nothrow);
		operator delete(seen(operator new(24)), std::nothrow);
		operator delete[](seen(operator new[](24)), size_t(24));
		delete seen(static_cast<one *>(nullptr));
		CHECK(live == 0);
	}
	return 0;
}
