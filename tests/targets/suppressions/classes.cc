// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Leaks and mismatches in C++, each at a place of its own, for the names in suppressions: every
 * form of new and delete, templates, lambdas, anonymous namespaces, what the library inlines.
 */
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#define APART __attribute__((noinline))
#define INLINED inline __attribute__((always_inline))

static void *volatile held;

/* The block is lost; a call after it, so that the caller's frame is there. */
static APART void lose(const void *block)
{
	held = const_cast<void *>(block);
	held = nullptr;
	__asm__ volatile("" : : : "memory");
}

namespace outside
{
struct local {
	template <class T> INLINED T *grab(size_t n)
	{
		return static_cast<T *>(malloc(n * sizeof(T)));
	}
	template <class T> APART T *take(size_t n)
	{
		T *block = new T[n];

		__asm__ volatile("" : : : "memory");
		return block;
	}
	APART void operator()(size_t n) const
	{
		lose(malloc(n));
	}
	operator bool() const
	{
		lose(new char[7]);
		return true;
	}
};

template <class T, int N> struct filled {
	static APART void lose_some()
	{
		lose(new T[N]);
	}
};
} // namespace outside

namespace
{
struct hidden {
	long words[4];
};

APART void in_anonymous()
{
	lose(new hidden{});
	outside::local().take<hidden>(3);
	outside::filled<hidden, 2>::lose_some();
}
} // namespace

static APART void each_new()
{
	const std::align_val_t wide{ 64 };

	lose(new int);
	lose(new int[5]);
	lose(new (std::nothrow) long);
	lose(new (std::nothrow) long[6]);
	lose(::operator new(100, wide));
	lose(::operator new[](200, wide));
	lose(::operator new(300, wide, std::nothrow));
	lose(::operator new[](400, wide, std::nothrow));
}

/* They jump to the operators where functions are optimised. */
static APART void *jumps_to_new(size_t n)
{
	return ::operator new(n);
}

static APART void *jumps_to_new_array(size_t n)
{
	return ::operator new[](n);
}

static APART void jumps_to_delete(void *block)
{
	::operator delete(block);
}

static APART void by_a_jump()
{
	lose(jumps_to_new(11));
	lose(jumps_to_new_array(12));
}

static void *(*volatile by_array)(size_t) = ::operator new[];

static APART void by_pointer()
{
	lose(by_array(13));
}

static APART void of_templates()
{
	outside::local local;

	lose(local.grab<int>(14));
	lose(local.grab<std::pair<long, char *>>(15));
	lose(local.take<double>(16));
	outside::filled<std::string, 3>::lose_some();
	local(17);
	if (local)
		lose(nullptr);
}

static APART void of_lambdas()
{
	int n = 18;
	auto plain = [&] { lose(malloc(n)); };
	auto generic = [](auto size) { lose(::operator new(size)); };
	std::function<void()> kept = [&] { lose(new char[n]); };

	plain();
	generic(19L);
	kept();
}

static APART void of_library()
{
	lose(new std::string(100, 'a'));
	lose(new std::vector<int>(20));
	lose(new std::deque<std::string>(3, std::string(50, 'b')));
	lose(std::make_unique<std::vector<std::string>>(2, std::string(60, 'c')).release());
	lose(new std::shared_ptr<int>(std::make_shared<int>(3)));
	lose(new std::ostringstream("text"));
}

struct base {
	virtual ~base() = default;
	virtual void act() = 0;
};

struct derived : base {
	char room[21];
	APART void act() override
	{
		lose(new derived);
	}
};

/* Is the class known to be derived? */
static base *volatile as_base;

static APART void of_classes()
{
	as_base = new derived;
	as_base->act();
	delete as_base;
}

static APART void thrown()
{
	try {
		lose(malloc(22));
		throw std::string(40, 'd');
	} catch (const std::string &) {
		lose(new char[23]);
	}
}

static APART void of_wrong_forms()
{
	int *made = static_cast<int *>(malloc(sizeof(int)));

	delete made;
	delete new int[10];
	delete[] static_cast<char *>(malloc(24));
	free(new long);
	free(new long[2]);
	jumps_to_delete(malloc(25));
	jumps_to_delete(new char[26]);
}

struct at_start {
	at_start()
	{
		lose(new char[27]);
	}
} first;

int main()
{
	in_anonymous();
	each_new();
	by_a_jump();
	by_pointer();
	of_templates();
	of_lambdas();
	of_library();
	of_classes();
	thrown();
	of_wrong_forms();
	return 0;
}
