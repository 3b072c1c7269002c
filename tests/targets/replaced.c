/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replaced HOW LIBRARY OTHER: calls leak_from_a of the library 50 times; then the library is gone
 * ("unlink"), another file has its name ("rename"), its own bytes are the other's ("overwrite") or
 * none ("truncate"); or this program's file is gone ("program"). Ends without running more of it.
 */
#include "target.h"

#include <dlfcn.h>
#include <fcntl.h>

#define CALLS 50

static void overwrite(const char *path, const char *other)
{
	char chunk[4096];
	int to = open(path, O_WRONLY | O_TRUNC), from = open(other, O_RDONLY);
	ssize_t n;

	CHECK(to >= 0 && from >= 0);
	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		CHECK(write(to, chunk, (size_t)n) == n);
	CHECK(n == 0);
}

int main(int argc, char **argv)
{
	const char *how = argv[1], *path = argv[2], *other = argv[3];
	void *(*leak)(void);
	void *library;

	CHECK(argc == 4);
	library = dlopen(path, RTLD_NOW);
	CHECK(library);
	leak = (void *(*)(void))(uintptr_t)dlsym(library, "leak_from_a");
	CHECK(leak);
	for (int i = 0; i < CALLS; i++)
		CHECK(leak());
	if (strcmp(how, "unlink") == 0)
		CHECK(unlink(path) == 0);
	else if (strcmp(how, "rename") == 0)
		CHECK(rename(other, path) == 0);
	else if (strcmp(how, "overwrite") == 0)
		overwrite(path, other);
	else if (strcmp(how, "truncate") == 0)
		CHECK(truncate(path, 0) == 0);
	else
		CHECK(strcmp(how, "program") == 0 && unlink(argv[0]) == 0);
	_exit(0);
}
