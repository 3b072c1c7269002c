/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dl ROUNDS: loads two libraries in turn, each of which leaks a block (of 1111 and of 2222 bytes)
 * and is unloaded again. Both are called from one place: with both at one address, their stacks
 * are equal to the bit. Prints "same N", in how many rounds both were at the same address.
 */
#include "tests/targets/target.h"

#include <dlfcn.h>
#include <libgen.h>

static uintptr_t use(const char *folder, const char *file, const char *function)
{
	char path[4096];
	void *(*leak)(void);
	void *library;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	library = dlopen(path, RTLD_NOW);
	CHECK(library);
	leak = (void *(*)(void))(uintptr_t)dlsym(library, function);
	CHECK(leak && leak());
	CHECK(!dlclose(library));
	return (uintptr_t)leak;
}

int main(int argc, char **argv)
{
	static const char *const libraries[][2] = {
		{ "libplug_a.so", "leak_from_a" },
		{ "libplug_b.so", "leak_from_b" },
	};
	uint64_t rounds = argument(argc, argv, 1, 20), i, same = 0;
	uintptr_t at, before = 0;
	char exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *folder;

	CHECK(len > 0);
	exe[len] = '\0';
	folder = dirname(exe);
	for (i = 0; i < 2 * rounds; i++) {
		at = use(folder, libraries[i % 2][0], libraries[i % 2][1]);
		same += i % 2 == 1 && at == before;
		before = at;
	}
	tell("same %llu\n", (unsigned long long)same);
	return 0;
}
