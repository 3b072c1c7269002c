/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LD_PRELOAD library that counts every heap call of a process, the loader's and the C library's
 * own included, into $COUNTS/PID.N (see ledger.h).
 *
 * The usual build calls glibc by its second names, which need no look-up. With COUNT_NEXT it stands
 * before whatever allocator comes next in the process, such as libjemalloc; dlsym() allocates only
 * when it fails (glibc 2.34 and later).
 */
#include "tests/targets/ledger.h"

#include <dlfcn.h>
#include <stdlib.h>

#ifdef COUNT_NEXT
#define NEXT(type, name, params, args)                                                             \
	static type next_##name params                                                             \
	{                                                                                          \
		static type(*next) params;                                                         \
		if (!next)                                                                         \
			next = dlsym(RTLD_NEXT, #name);                                            \
		return next args;                                                                  \
	}
#else
#define NEXT(type, name, params, args)                                                             \
	extern type __libc_##name params;                                                          \
	static inline type next_##name params                                                      \
	{                                                                                          \
		return __libc_##name args;                                                         \
	}
#endif

NEXT(void *, malloc, (size_t size), (size))
NEXT(void *, calloc, (size_t n, size_t size), (n, size))
NEXT(void *, realloc, (void *block, size_t size), (block, size))
NEXT(void *, memalign, (size_t alignment, size_t size), (alignment, size))
NEXT(void *, valloc, (size_t size), (size))
NEXT(void *, pvalloc, (size_t size), (size))
NEXT(void, free, (void *block), (block))

#define VARIABLE "COUNTS"

void *malloc(size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = next_malloc(size);

	return count ? ledger_alloc(block, size) : block;
}

void *calloc(size_t n, size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = next_calloc(n, size);

	return count ? ledger_alloc(block, n * size) : block;
}

void free(void *block)
{
	if (ledger_open(VARIABLE))
		ledger_free(block);
	next_free(block);
}

void *realloc(void *block, size_t size)
{
	if (!ledger_open(VARIABLE))
		return next_realloc(block, size);
	return ledger_realloc(next_realloc, block, size);
}

void *reallocarray(void *block, size_t n, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(n, size, &bytes))
		return realloc(block, bytes);
	if (ledger_open(VARIABLE))
		ledger_add(&ledger.totals->failed, 1);
	errno = ENOMEM;
	return NULL;
}

void *memalign(size_t alignment, size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = next_memalign(alignment, size);

	return count ? ledger_alloc(block, size) : block;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size); /* what it is in glibc before 2.38 */
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	int (*next)(void **, size_t, size_t) = dlsym(RTLD_NEXT, "posix_memalign");
	bool count = ledger_open(VARIABLE);
	int r = next(ret, alignment, size);

	if (count)
		ledger_alloc(r ? NULL : *ret, size);
	return r;
}

void *valloc(size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = next_valloc(size);

	return count ? ledger_alloc(block, size) : block;
}

void *pvalloc(size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = next_pvalloc(size);

	return count ? ledger_alloc(block, size) : block;
}
