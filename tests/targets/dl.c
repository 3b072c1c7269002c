/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dl ROUNDS [attach|fork]: loads two libraries in turn, each of which leaks a block (of 1111 and of
 * 2222 bytes) and is unloaded again. Both are called from one place: with both at one address,
 * their stacks are equal to the bit. Prints "same N", in how many rounds both were at the same
 * address. With `attach` it prints "ready" and waits for a line when it has loaded one; with `fork`
 * a child goes on when the first is loaded.
 */
#include "tests/targets/target.h"

#include <dlfcn.h>
#include <libgen.h>
#include <stdbool.h>
#include <sys/wait.h>

static void *load(const char *folder, const char *file)
{
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	library = dlopen(path, RTLD_NOW);
	CHECK(library);
	return library;
}

static uintptr_t use(void *library, const char *function)
{
	void *(*leak)(void) = (void *(*)(void))(uintptr_t)dlsym(library, function);

	CHECK(leak && leak());
	CHECK(!dlclose(library));
	return (uintptr_t)leak;
}

static void loaded(const char *how, bool is_first)
{
	int status;
	pid_t pid;

	if (strcmp(how, "attach") == 0) {
		tell("ready\n");
		wait_for_line();
	}
	if (strcmp(how, "fork") != 0 || !is_first)
		return;
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		return;
	CHECK(waitpid(pid, &status, 0) == pid);
	exit(status != 0);
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
	void *library;

	CHECK(len > 0);
	exe[len] = '\0';
	folder = dirname(exe);
	for (i = 0; i < 2 * rounds; i++) {
		library = load(folder, libraries[i % 2][0]);
		if (argc > 2)
			loaded(argv[2], i == 0);
		at = use(library, libraries[i % 2][1]);
		same += i % 2 == 1 && at == before;
		before = at;
	}
	tell("same %llu\n", (unsigned long long)same);
	return 0;
}
