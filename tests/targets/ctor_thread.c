/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads a library whose constructor waits for a thread (ctor_thread_plugin.cc): dlopen() holds the
 * dynamic linker's lock meanwhile. Built as a C program, and with C++'s run-time library, as
 * ctor_thread-cc.
 */
#include "tests/targets/target.h"

#include <dlfcn.h>
#include <libgen.h>

int main(void)
{
	char exe[4096], path[4200];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	CHECK(len > 0);
	exe[len] = '\0';
	snprintf(path, sizeof(path), "%s/libctor_thread.so", dirname(exe));
	(void)alarm(30); /* for one that waits for ever */
	CHECK(dlopen(path, RTLD_NOW));
	return 0;
}
