/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * weak_operators N: a program without C++'s run-time library that uses its operators new and delete
 * N times if there are any, as libraries do that go with C and C++. Then loads that library, and
 * uses them once more.
 */
#include "tests/targets/target.h"

#include <dlfcn.h>

extern void *_Znwm(size_t size) __attribute__((weak));
extern void _ZdlPv(void *block) __attribute__((weak));

static __attribute__((noinline)) void use(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		unsigned char *block = _Znwm(i % 5000);

		CHECK(block);
		memset(block, 7, i % 5000);
		_ZdlPv(block);
	}
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 10000);

	tell("ready %d\n", (int)getpid());
	if (!_Znwm || !_ZdlPv)
		return 0;
	use(n);
	CHECK(dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL));
	use(1);
	return 0;
}
