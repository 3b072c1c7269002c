/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++'s operators new and delete, by the names that the Itanium ABI gives them, so that no C++
 * run-time library is needed. Those of a run-time library call malloc, where the block counts;
 * those of an allocator count here, unless they have called what counts all the same (jemalloc's
 * aligned ones): then the countdown has moved. An operator new may throw: nothing is held across
 * the call.
 */
#include "sample/next.h"
#include "sample/process.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

/* The next function of a name; both NULL: it was not asked for yet. */
struct next_operator {
	void *counts; /* the allocator's own, whose blocks count here */
	void *passes; /* a run-time library's, which calls malloc and free */
};

/*
 * Who is loaded by dlopen() with its own run-time library, as extensions of a C program are, calls
 * ours all the same; RTLD_NEXT does not lead to that library, the caller's own needs do. It then
 * stays loaded.
 */
static void *find_by_caller(const char *name, const void *caller)
{
	Dl_info info;
	void *object;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return NULL;
	object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
	return object ? dlsym(object, name) : NULL;
}

static void *find_operator(struct next_operator *found, const char *name, const void *caller)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		function = find_by_caller(name, caller);
	if (!function) {
		(void)dlerror(); /* as in next_find() */
		return NULL;
	}
	__atomic_store_n(next_is_of_malloc(function) ? &found->counts : &found->passes, function,
			 __ATOMIC_RELAXED);
	return function;
}

/* Where there is no run-time library at all; what throws ends the program there. */
static void *plain_new(size_t size, size_t alignment, bool throws)
{
	void *block;

	size = size ? size : 1;
	block = alignment ? memalign(alignment, size) : malloc(size);

	if (!block && throws)
		abort();
	return block;
}

static void forget(void *block)
{
	struct sampled_block what;

	(void)sample_forget(block, &what); /* told there, if it was sampled */
}

struct nothrow;

#define LOAD(pointer) __atomic_load_n(&(pointer), __ATOMIC_RELAXED)

/* Passing on is a jump. At the first call of all the mark tells whether malloc has counted. */
#define NEW(name, alignment_or_0, throws, params, args)                                            \
	SAMPLE_EXPORT void *name params;                                                           \
	SAMPLE_EXPORT void *name params                                                            \
	{                                                                                          \
		static struct next_operator found;                                                 \
		void *(*function)params = LOAD(found.passes);                                      \
		uint64_t mark;                                                                     \
		void *block;                                                                       \
                                                                                                   \
		if (function)                                                                      \
			return function args;                                                      \
		function = LOAD(found.counts);                                                     \
		if (!function)                                                                     \
			function = find_operator(&found, #name, __builtin_return_address(0));      \
		if (!function)                                                                     \
			return plain_new(size, alignment_or_0, throws);                            \
		mark = sample_mark();                                                              \
		block = function args;                                                             \
		sample_returned(block, size, mark);                                                \
		return block;                                                                      \
	}

#define DELETE(name, params, args)                                                                 \
	SAMPLE_EXPORT void name params;                                                            \
	SAMPLE_EXPORT void name params                                                             \
	{                                                                                          \
		static struct next_operator found;                                                 \
		void(*function) params = LOAD(found.passes);                                       \
                                                                                                   \
		if (function) {                                                                    \
			function args;                                                             \
			return;                                                                    \
		}                                                                                  \
		function = LOAD(found.counts);                                                     \
		if (!function)                                                                     \
			function = find_operator(&found, #name, __builtin_return_address(0));      \
		if (!function) {                                                                   \
			free(block);                                                               \
			return;                                                                    \
		}                                                                                  \
		if (sample_may_have(block))                                                        \
			forget(block);                                                             \
		function args;                                                                     \
	}

NEW(_Znwm, 0, true, (size_t size), (size))
NEW(_Znam, 0, true, (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, 0, false, (size_t size, const struct nothrow *tag), (size, tag))
NEW(_ZnamRKSt9nothrow_t, 0, false, (size_t size, const struct nothrow *tag), (size, tag))
NEW(_ZnwmSt11align_val_t, alignment, true, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnamSt11align_val_t, alignment, true, (size_t size, size_t alignment), (size, alignment))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, alignment, false,
    (size_t size, size_t alignment, const struct nothrow *tag), (size, alignment, tag))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, alignment, false,
    (size_t size, size_t alignment, const struct nothrow *tag), (size, alignment, tag))

DELETE(_ZdlPv, (void *block), (block))
DELETE(_ZdaPv, (void *block), (block))
DELETE(_ZdlPvm, (void *block, size_t size), (block, size))
DELETE(_ZdaPvm, (void *block, size_t size), (block, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const struct nothrow *tag), (block, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const struct nothrow *tag), (block, tag))
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
       (block, size, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
       (block, size, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t,
       (void *block, size_t alignment, const struct nothrow *tag), (block, alignment, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t,
       (void *block, size_t alignment, const struct nothrow *tag), (block, alignment, tag))
