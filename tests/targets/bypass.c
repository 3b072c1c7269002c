/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bypass HOW LIBRARY: has a library allocate 10 times that is loaded as HOW says: "plainly", "deep"
 * (RTLD_DEEPBIND) or "apart" (in a namespace of its own); then a child that it forks, twice.
 */
#include "tests/targets/target.h"

#include <dlfcn.h>
#include <sys/wait.h>

static void *load(const char *how, const char *path)
{
	if (strcmp(how, "apart") == 0)
		return dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	return dlopen(path, strcmp(how, "deep") == 0 ? RTLD_NOW | RTLD_DEEPBIND : RTLD_NOW);
}

int main(int argc, char **argv)
{
	void *library;
	void (*leak)(void);
	int status;
	pid_t pid;

	CHECK(argc == 3);
	library = load(argv[1], argv[2]);
	CHECK(library);
	leak = (void (*)(void))dlsym(library, "leak_from_a");
	CHECK(leak && malloc(77));
	for (int i = 0; i < 10; i++)
		leak();
	pid = fork();
	if (pid == 0) {
		CHECK(malloc(78));
		leak();
		leak();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	return 0;
}
