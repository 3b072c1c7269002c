/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LD_PRELOAD library whose functions pass calls on and do nothing else: what any interposition
 * costs.
 */
#include <dlfcn.h>
#include <stdlib.h>

static void *find(void **place, const char *name)
{
	return *place = dlsym(RTLD_NEXT, name);
}

#define NEXT(type, name, params, args)                                                             \
	type name params                                                                           \
	{                                                                                          \
		static void *place;                                                                \
		type(*next) params = place;                                                        \
                                                                                                   \
		if (__builtin_expect(!next, 0))                                                    \
			next = find(&place, #name);                                                \
		return next args;                                                                  \
	}

NEXT(void *, malloc, (size_t size), (size))
NEXT(void *, calloc, (size_t n, size_t size), (n, size))
NEXT(void *, realloc, (void *block, size_t size), (block, size))
NEXT(void, free, (void *block), (block))
