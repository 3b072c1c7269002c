/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcmalloc (gperftools) calls itself when it starts, by names that only it has: calls of a library
 * as any other. These stand before them by a hidden version (sample.map), which the dynamic linker
 * takes for references without one, but never gives to dlsym(): no program finds a tcmalloc here.
 */
#include "sample/libdl.h"
#include "sample/next.h"
#include "sample/process.h"

#include <stdlib.h>

/* The one of another object than the next allocator; NULL: malloc and free are the same. */
static void *find_other(const char *name)
{
	void *function = next_look_up(RTLD_NEXT, name);

	return function && !next_is_of_malloc(function) ? function : NULL;
}

struct other_function {
	bool sought;
	void *function;
};

static void *other(struct other_function *known, const char *name)
{
	if (!__atomic_load_n(&known->sought, __ATOMIC_ACQUIRE)) {
		known->function = find_other(name);
		__atomic_store_n(&known->sought, true, __ATOMIC_RELEASE);
	}
	return known->function;
}

SAMPLE_EXPORT void *own_tc_malloc(size_t size);
SAMPLE_EXPORT void *own_tc_malloc(size_t size)
{
	static struct other_function known;
	void *(*function)(size_t) = (void *(*)(size_t))other(&known, "tc_malloc");

	return function ? function(size) : malloc(size);
}

SAMPLE_EXPORT void own_tc_free(void *block);
SAMPLE_EXPORT void own_tc_free(void *block)
{
	static struct other_function known;
	void (*function)(void *) = (void (*)(void *))other(&known, "tc_free");

	if (function)
		function(block);
	else
		free(block);
}

__asm__(".symver own_tc_malloc, tc_malloc@MEMTRACED_OWN\n"
	".symver own_tc_free, tc_free@MEMTRACED_OWN\n");
