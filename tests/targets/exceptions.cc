/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exceptions N: operator new and delete in all their forms; N times a bad_alloc thrown by operator
 * new itself and caught, an exception thrown through frames that own memory, and a longjmp out of a
 * new handler. Each must be survived: a return probe on operator new turns them into abort().
 */
#include "tests/targets/target.h"

#include <csetjmp>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

static jmp_buf way_out;

/* The optimiser may drop a new-expression whose result it sees deleted. */
template <typename T> static T *seen(T *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static bool caught_bad_alloc()
{
	try {
		char *block = static_cast<char *>(::operator new(opaque(PTRDIFF_MAX - 64)));

		::operator delete(block);
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

static bool caught_bad_array()
{
	try {
		std::unique_ptr<char[]> block(seen(new char[opaque(PTRDIFF_MAX - 64)]));

		return false;
	} catch (const std::bad_alloc &) {
		return true;
	}
}

static __attribute__((noinline)) void throw_through(unsigned depth)
{
	std::vector<int> owned(depth + 10, 7);
	std::unique_ptr<std::string> text(new std::string(40 + depth, 'x'));

	if (depth == 0)
		throw std::runtime_error(std::string(100, 'e'));
	throw_through(depth - 1);
}

static void leave_by_longjmp()
{
	longjmp(way_out, 1);
}

static bool left_by_longjmp()
{
	std::new_handler before = std::set_new_handler(leave_by_longjmp);
	bool left = true;

	if (setjmp(way_out) == 0) {
		::operator delete(::operator new(opaque(PTRDIFF_MAX - 64)));
		left = false;
	}
	std::set_new_handler(before);
	return left;
}

struct alignas(256) Wide {
	char bytes[512];
};

static void all_forms()
{
	delete seen(new int(5));
	delete[] seen(new int[100]);
	delete seen(new Wide);
	delete[] seen(new Wide[3]);
	::operator delete(::operator new(77, std::nothrow), std::nothrow);
	CHECK(!::operator new(opaque(PTRDIFF_MAX - 64), std::nothrow));
	seen(new double(1.5)); /* stays */
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 100), i, caught = 0;

	for (i = 0; i < n; i++) {
		CHECK(caught_bad_alloc());
		CHECK(caught_bad_array());
		CHECK(left_by_longjmp());
		try {
			throw_through(5);
		} catch (const std::runtime_error &) {
			caught++;
		}
		all_forms();
	}
	tell("caught %llu\n", (unsigned long long)caught);
	return 0;
}
