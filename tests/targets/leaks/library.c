/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Libraries' own variables as roots; of one that is closed they are gone. */
#include "leaks.h"
#include <dlfcn.h>
#include <stdio.h>

typedef void (*hold_fn)(void *);

static void *open_and_hold(const char *program, char letter, void *block)
{
	char path[4096];
	void *library;
	hold_fn hold;

	snprintf(path, sizeof(path), "%.*s/libleaks_%c.so", (int)(strrchr(program, '/') - program),
		 program, letter);
	library = dlopen(path, RTLD_NOW);
	hold = library ? (hold_fn)dlsym(library, "leaks_hold") : NULL;
	if (!hold) {
		puts(dlerror());
		exit(1);
	}
	hold(block);
	memset(path, 0, sizeof(path));
	return library;
}

static __attribute__((noinline)) void lose(const char *program)
{
	(void)open_and_hold(program, 'a', malloc(707));
	dlclose(open_and_hold(program, 'b', malloc(808)));
}

int main(int argc, char **argv)
{
	(void)argc;
	lose(argv[0]);
	scrub();
	return 0;
}
