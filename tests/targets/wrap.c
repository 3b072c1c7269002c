/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the heap calls that a target's own code makes, and only those, into $SELF_COUNTS/PID.N
 * (see ledger.h). Linked into each target with ld's --wrap, so it works in static programs too and
 * leaves the C library's malloc alone in the process.
 */
#include "tests/targets/ledger.h"

#include <stdlib.h>

#define VARIABLE "SELF_COUNTS"

#define WRAP(type, name, ...)                                                                      \
	extern type __real_##name(__VA_ARGS__);                                                    \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

WRAP(void *, malloc, size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = __real_malloc(size);

	return count ? ledger_alloc(block, size) : block;
}

WRAP(void *, calloc, size_t n, size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = __real_calloc(n, size);

	return count ? ledger_alloc(block, n * size) : block;
}

WRAP(void, free, void *block)
{
	if (ledger_open(VARIABLE))
		ledger_free(block);
	__real_free(block);
}

WRAP(void *, realloc, void *block, size_t size)
{
	if (!ledger_open(VARIABLE))
		return __real_realloc(block, size);
	return ledger_realloc(__real_realloc, block, size);
}

WRAP(void *, reallocarray, void *block, size_t n, size_t size)
{
	size_t bytes;

	if (!ledger_open(VARIABLE))
		return __real_reallocarray(block, n, size);
	if (!__builtin_mul_overflow(n, size, &bytes))
		return ledger_realloc(__real_realloc, block, bytes);
	ledger_add(&ledger.totals->failed, 1);
	return __real_reallocarray(block, n, size);
}

WRAP(void *, memalign, size_t alignment, size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = __real_memalign(alignment, size);

	return count ? ledger_alloc(block, size) : block;
}

WRAP(void *, aligned_alloc, size_t alignment, size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = __real_aligned_alloc(alignment, size);

	return count ? ledger_alloc(block, size) : block;
}

WRAP(int, posix_memalign, void **ret, size_t alignment, size_t size)
{
	bool count = ledger_open(VARIABLE);
	int r = __real_posix_memalign(ret, alignment, size);

	if (count)
		ledger_alloc(r ? NULL : *ret, size);
	return r;
}

WRAP(void *, valloc, size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = __real_valloc(size);

	return count ? ledger_alloc(block, size) : block;
}

WRAP(void *, pvalloc, size_t size)
{
	bool count = ledger_open(VARIABLE);
	void *block = __real_pvalloc(size);

	return count ? ledger_alloc(block, size) : block;
}
