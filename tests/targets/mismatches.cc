/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mismatches N [memory | wait]: blocks made by each of C's and C++'s forms and given back by each,
 * the right one and the wrong ones, N times; then right uses that are hard to tell: new handlers
 * that allocate and free, constructors that throw, what the standard library does. With "memory",
 * no request fails, since mimalloc and memcheck end the program then. With "wait" it waits first.
 */
#include "tests/targets/target.h"

#include <map>
#include <memory>
#include <new>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

/* The same size class in every allocator, by whatever function. */
static const size_t size = 128;
static const std::align_val_t wide{ 64 };

typedef void *make_fn();
typedef void take_fn(void *);

static make_fn *const makers[3][3] = {
	{ [] { return malloc(size); }, [] { return calloc(1, size); },
	  [] { return aligned_alloc(64, size); } },
	{ [] { return ::operator new(size); }, [] { return ::operator new(size, std::nothrow); },
	  [] { return ::operator new(size, wide); } },
	{ [] { return ::operator new[](size); },
	  [] { return ::operator new[](size, std::nothrow); },
	  [] { return ::operator new[](size, wide); } },
};

static void *volatile kept;

static take_fn *const takers[3][3] = {
	{ [](void *p) { free(p); }, [](void *p) { free(p); },
	  [](void *p) {
		  kept = realloc(p, 4 * size);
		  free(kept);
	  } },
	{ [](void *p) { ::operator delete(p); }, [](void *p) { ::operator delete(p, size); },
	  [](void *p) { ::operator delete(p, std::nothrow); } },
	{ [](void *p) { ::operator delete[](p); }, [](void *p) { ::operator delete[](p, size); },
	  [](void *p) { ::operator delete[](p, std::nothrow); } },
};

template <int MADE, int TAKEN> static __attribute__((noinline)) void pair()
{
	for (make_fn *make : makers[MADE])
		for (take_fn *take : takers[TAKEN]) {
			void *block = make();

			CHECK(block);
			take(block);
			kept = nullptr; /* no jump */
		}
}

static void *reserve;

/* Inside of new: gives back what it held, and makes and drops others. */
static void handler()
{
	std::string text(300, 'x');

	delete new int;
	free(malloc(10));
	free(reserve);
	delete[] new char[20];
	std::set_new_handler(nullptr);
	kept = (void *)text.data();
}

static __attribute__((noinline)) void with_a_handler()
{
	reserve = malloc(1000);
	std::set_new_handler(handler);
	try {
		kept = ::operator new(IMPOSSIBLE);
		CHECK(false);
	} catch (const std::bad_alloc &) {
	}
	free(malloc(200));
	delete new long;
}

static struct rlimit limit;

/* Inside of new, which asks once more then, and gets it. */
static void helping_handler()
{
	free(malloc(10));
	CHECK(!setrlimit(RLIMIT_DATA, &limit));
	std::set_new_handler(nullptr);
}

static __attribute__((noinline)) void with_a_handler_that_helps()
{
	struct rlimit none;

	CHECK(!getrlimit(RLIMIT_DATA, &limit));
	none = { 1, limit.rlim_max }; /* 0 is none, for Valgrind */
	CHECK(!setrlimit(RLIMIT_DATA, &none));
	std::set_new_handler(helping_handler);
	kept = ::operator new(64 << 20);
	CHECK(!std::get_new_handler());
	::operator delete(kept);
}

struct thrower {
	std::string text = std::string(100, 'a');
	explicit thrower(int n)
	{
		if (n)
			throw n;
	}
};

static __attribute__((noinline)) void with_exceptions()
{
	for (int i = 0; i < 2; i++)
		try {
			delete new thrower(i);
			delete[] new thrower[3]{ thrower(0), thrower(0), thrower(i) };
		} catch (int) {
		}
	free(malloc(20));
}

static __attribute__((noinline)) void library()
{
	std::map<int, std::string> map;
	auto shared = std::make_shared<std::vector<int>>(1000);
	char *text = strdup("of C");

	for (int i = 0; i < 50; i++)
		map[i] = std::string(i, 'b');
	std::thread([&] {
		map.clear();
		shared->resize(5000);
		::operator delete(nullptr);
		free(malloc(30));
	}).join();
	free(text);
}

/* One after the other from the same place, as functions at exit are: what jumps leaves no frame. */
static __attribute__((noinline)) void from_one_place()
{
	take_fn *const functions[] = { ::operator delete, free, ::operator delete[], free };
	void *volatile blocks[] = { nullptr, malloc(50), nullptr, malloc(60) };

	for (size_t i = 0; i < 4; i++)
		functions[opaque(i)](blocks[i]);
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 1);

	if (argc > 2 && strcmp(argv[2], "wait") == 0) {
		tell("ready\n");
		wait_for_line();
	}
	while (n--) {
		pair<0, 0>(), pair<0, 1>(), pair<0, 2>();
		pair<1, 0>(), pair<1, 1>(), pair<1, 2>();
		pair<2, 0>(), pair<2, 1>(), pair<2, 2>();
		if (argc < 3 || strcmp(argv[2], "memory"))
			with_a_handler(), with_a_handler_that_helps();
		with_exceptions();
		from_one_place();
		library();
	}
	return 0;
}
