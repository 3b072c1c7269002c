/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loads: does what the lines of its input say, and answers each with itself. "/path" unloads the
 * library before and loads that one; "function N" has the library's function touch N new pages.
 */
#include "tests/targets/target.h"

#include <dlfcn.h>
#include <sys/mman.h>

typedef void touch(volatile char *at, size_t pages);

static void touch_pages(void *library, const char *function, size_t pages)
{
	touch *fn = (touch *)(uintptr_t)dlsym(library, function);
	char *at = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	CHECK(fn && at != MAP_FAILED && !madvise(at, pages * 4096, MADV_NOHUGEPAGE));
	fn(at, pages);
}

int main(void)
{
	char line[4096], function[64];
	void *library = NULL;
	size_t pages;

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '/') {
			CHECK(!library || !dlclose(library));
			library = dlopen(line, RTLD_NOW);
			CHECK(library);
		} else if (sscanf(line, "%63s %zu", function, &pages) == 2) {
			touch_pages(library, function, pages);
		}
		tell("%s\n", line);
	}
	return 0;
}
