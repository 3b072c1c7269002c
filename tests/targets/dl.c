/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dl ROUNDS: loads two libraries in turn, each of which leaks a block (of 1111 and of 2222 bytes)
 * and is unloaded again. Prints "same N", in how many rounds both were at the same address.
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
	uint64_t rounds = argument(argc, argv, 1, 20), i, same = 0;
	char exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *folder;

	CHECK(len > 0);
	exe[len] = '\0';
	folder = dirname(exe);
	for (i = 0; i < rounds; i++)
		same += use(folder, "libplug_a.so", "leak_from_a") ==
			use(folder, "libplug_b.so", "leak_from_b");
	tell("same %llu\n", (unsigned long long)same);
	return 0;
}
