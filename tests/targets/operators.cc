/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: operators [CALLS [FORMS]]: all forms of new and delete at random, or the first of them,
 * counted into $SELF_COUNTS.
 */
#include "tests/targets/ledger.h"
#include "tests/targets/target.h"

#include <new>

#define N_SLOTS 200

static const std::align_val_t wide{ 128 };

struct form {
	void *(*make)(size_t size);
	void (*drop)(void *block, size_t size);
	void (*drop_sized)(void *block, size_t size);
	void (*drop_nothrow)(void *block, size_t size);
};

static const form forms[] = {
	{ [](size_t n) { return ::operator new(n); }, [](void *p, size_t) { ::operator delete(p); },
	  [](void *p, size_t n) { ::operator delete(p, n); },
	  [](void *p, size_t) { ::operator delete(p, std::nothrow); } },
	{ [](size_t n) { return ::operator new[](n); },
	  [](void *p, size_t) { ::operator delete[](p); },
	  [](void *p, size_t n) { ::operator delete[](p, n); },
	  [](void *p, size_t) { ::operator delete[](p, std::nothrow); } },
	{ [](size_t n) { return ::operator new(n, std::nothrow); },
	  [](void *p, size_t) { ::operator delete(p); },
	  [](void *p, size_t n) { ::operator delete(p, n); },
	  [](void *p, size_t) { ::operator delete(p, std::nothrow); } },
	{ [](size_t n) { return ::operator new[](n, std::nothrow); },
	  [](void *p, size_t) { ::operator delete[](p); },
	  [](void *p, size_t n) { ::operator delete[](p, n); },
	  [](void *p, size_t) { ::operator delete[](p, std::nothrow); } },
	{ [](size_t n) { return ::operator new(n, wide); },
	  [](void *p, size_t) { ::operator delete(p, wide); },
	  [](void *p, size_t n) { ::operator delete(p, n, wide); },
	  [](void *p, size_t) { ::operator delete(p, wide, std::nothrow); } },
	{ [](size_t n) { return ::operator new[](n, wide); },
	  [](void *p, size_t) { ::operator delete[](p, wide); },
	  [](void *p, size_t n) { ::operator delete[](p, n, wide); },
	  [](void *p, size_t) { ::operator delete[](p, wide, std::nothrow); } },
	{ [](size_t n) { return ::operator new(n, wide, std::nothrow); },
	  [](void *p, size_t) { ::operator delete(p, wide); },
	  [](void *p, size_t n) { ::operator delete(p, n, wide); },
	  [](void *p, size_t) { ::operator delete(p, wide, std::nothrow); } },
	{ [](size_t n) { return ::operator new[](n, wide, std::nothrow); },
	  [](void *p, size_t) { ::operator delete[](p, wide); },
	  [](void *p, size_t n) { ::operator delete[](p, n, wide); },
	  [](void *p, size_t) { ::operator delete[](p, wide, std::nothrow); } },
};

static struct {
	void *block;
	size_t size;
	const form *made;
} slots[N_SLOTS];

int main(int argc, char **argv)
{
	uint64_t calls = argument(argc, argv, 1, 2000), seed = 13;
	uint64_t used = argument(argc, argv, 2, sizeof(forms) / sizeof(forms[0]));

	CHECK(used > 0 && used <= sizeof(forms) / sizeof(forms[0]));
	CHECK(ledger_open("SELF_COUNTS"));
	for (uint64_t i = 0; i < calls; i++) {
		uint64_t random = next_random(&seed);
		auto &slot = slots[(random >> 16) % N_SLOTS];

		if (slot.block) {
			ledger_free(slot.block);
			(random >> 32 & 1 ? slot.made->drop :
			 random >> 33 & 1 ? slot.made->drop_sized :
					    slot.made->drop_nothrow)(slot.block, slot.size);
			slot.block = nullptr;
			continue;
		}
		slot.made = &forms[(random >> 34) % used];
		/* A multiple of the alignment: libstdc++ rounds what it asks aligned_alloc for. */
		slot.size = 128 * (1 + random % 20);
		slot.block = ledger_alloc(slot.made->make(slot.size), slot.size);
		CHECK(slot.block);
	}
	tell("done %llu\n", (unsigned long long)calls);
	return 0;
}
