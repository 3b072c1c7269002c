/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++'s operators new and delete, by the names that the Itanium ABI gives them, so that no C++
 * run-time library is needed. Those of a run-time library are malloc and free (C++ standard,
 * [new.delete]), which ours call themselves, without the detour, unless the program has replaced
 * some: the library's others then lead to these. What is left to the library is an
 * allocation that fails, whose handler and exception it has. Another library's own are passed on
 * to, and its blocks count where it calls malloc. Those of an allocator count here, unless they
 * have called what counts all the same (jemalloc's aligned ones): then the countdown has moved. An
 * operator new may throw: nothing is held across the call.
 */
#include "sample/exact.h"
#include "sample/libdl.h"
#include "sample/next.h"
#include "sample/process.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* The next function of a name; all NULL: it was not asked for yet. */
struct next_operator {
	void *plain;  /* a run-time library's, which does what malloc and free do */
	void *passes; /* any other's that calls malloc and free */
	void *counts; /* the allocator's own, whose blocks count here */
};

#define LOAD(pointer) __atomic_load_n(&(pointer), __ATOMIC_RELAXED)

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
	object = next_loaded(info.dli_fname);
	return object ? next_look_up(object, name) : NULL;
}

/* By the names that GCC's and LLVM's give their files. */
static bool is_of_run_time_library(const void *function)
{
	static const char *const names[] = { "libstdc++.so", "libc++.so", "libc++abi.so" };
	struct next_object object;
	const char *name;

	if (!next_object_of(function, &object))
		return false;
	name = strrchr(object.file, '/');
	name = name ? name + 1 : object.file;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* The function that ours of this name stands before. */
static void *function_behind(const char *name, const void *caller)
{
	void *function = next_look_up(RTLD_NEXT, name);

	return function ? function : find_by_caller(name, caller);
}

static bool is_ours(const void *function)
{
	struct next_object its, ours;

	return next_object_of(function, &its) &&
	       next_object_of((const void *)function_behind, &ours) && its.id == ours.id;
}

/*
 * A run-time library's operators of arrays, with sizes and with nothrow call those for one object,
 * or for an array, by their names: whoever has replaced one of these has to be called
 * ([new.delete.single], [new.delete.array]). It is in the executable, before ours, or behind.
 */
static bool any_is_replaced(const void *caller)
{
	static const char *const names[] = { "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const void *first = next_look_up(RTLD_DEFAULT, names[i]),
			   *behind = function_behind(names[i], caller);

		if (!first || !behind || !is_of_run_time_library(behind))
			return true;
		if (!is_ours(first) && !is_of_run_time_library(first))
			return true;
	}
	return false;
}

/* Those found have one of the three. */
static bool is_found(const struct next_operator *found)
{
	return LOAD(found->plain) || LOAD(found->passes) || LOAD(found->counts);
}

/* Another library may stand between us and the allocator with a malloc of its own alone. */
static bool is_of_allocator(const void *function)
{
	struct next_object its, mallocs;
	void *object, *its_malloc;

	if (next_is_of_malloc(function))
		return true;
	object = next_object_of(function, &its) && *its.file ? next_loaded(its.file) : NULL;
	its_malloc = object ? next_look_up(object, "malloc") : NULL;
	return its_malloc && next_object_of(its_malloc, &mallocs) && mallocs.id == its.id;
}

/* May be asked again and again: who has found it finds the same. */
static void *seek_operator(struct next_operator *found, const char *name, bool may_be_plain,
			   const void *caller)
{
	void *function = function_behind(name, caller);
	void **place = &found->passes;

	if (!function)
		return NULL;
	if (is_of_allocator(function))
		place = &found->counts;
	else if (may_be_plain && !exact_is_on() && is_of_run_time_library(function))
		place = &found->plain;
	__atomic_store_n(place, function, __ATOMIC_RELAXED);
	return function;
}

/*
 * Where there is no such function, which takes some 15 us to find out: those that have called it,
 * with the number of objects that were loaded then. A number is 16 bits, an address 48.
 */
#define ABSENT_SITES 8
#define LOADED_BITS 16

struct absent {
	uint64_t sites[ABSENT_SITES];
};

static bool is_absent(struct absent *absent, const void *caller, uint64_t *ret_site,
		      uint64_t **ret_place)
{
	uint64_t loaded = next_objects_loaded() & ((1U << LOADED_BITS) - 1);

	*ret_site = (uint64_t)(uintptr_t)caller << LOADED_BITS | loaded;
	*ret_place = &absent->sites[(uintptr_t)caller / 4 % ABSENT_SITES];
	return LOAD(**ret_place) == *ret_site;
}

static void seek_others(const void *caller);

/*
 * With the first one all are sought: dlsym() waits while another thread is in dlopen(), whose
 * constructors may wait for the thread that calls an operator.
 */
static void *find_operator(struct next_operator *found, struct absent *absent, const char *name,
			   bool may_be_plain, const void *caller)
{
	uint64_t site, *place;
	void *function;

	if (is_absent(absent, caller, &site, &place))
		return NULL;
	function = seek_operator(found, name, may_be_plain && !any_is_replaced(caller), caller);
	if (function)
		seek_others(caller);
	else
		__atomic_store_n(place, site, __ATOMIC_RELAXED);
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

static SAMPLE_SELDOM void free_known(void *block)
{
	(void)sample_forget(block); /* told there, if it was sampled */
	next.free(block);
}

static SAMPLE_SELDOM void *is_sample(void *block, size_t size)
{
	sample_allocated(block, size);
	return block;
}

struct nothrow;

#define AND_CALLER(...) (__VA_ARGS__, const void *caller)
#define WITH_CALLER(...) (__VA_ARGS__, __builtin_return_address(0))

#define AND_ITS_CALLER(...) (__VA_ARGS__, caller)

#define IS_ARRAY(name) (#name[3] == 'a')
#define FORM_OF(name) (IS_ARRAY(name) ? ABI_FORM_ARRAY : ABI_FORM_NEW)

/*
 * Passing on is a jump, by which exact depth has the library's operator in stacks and nothing of
 * ours. At the first call of all the mark tells whether malloc has counted.
 */
#define NEW_SELDOM(name, may_be_plain, alignment_or_0, throws, params, args)                       \
	static struct next_operator name##_next SAMPLE_BESIDE_NEXT;                                \
	static struct absent name##_absent;                                                        \
                                                                                                   \
	static SAMPLE_SELDOM void *name##_counts params                                            \
	{                                                                                          \
		struct exact_call call = EXACT_CALL();                                             \
		void *(*function)params = LOAD(name##_next.counts);                                \
		bool exact = exact_is_on() && exact_begin_throwing(&call, function);               \
		uint64_t mark = sample_mark();                                                     \
		void *block = function args;                                                       \
                                                                                                   \
		if (exact)                                                                         \
			exact_end_throwing(block, size,                                            \
					   IS_ARRAY(name) ? ABI_BOOK_NEW_ARRAY : ABI_BOOK_NEW,     \
					   &call);                                                 \
		else                                                                               \
			sample_returned(block, size, mark);                                        \
		return block;                                                                      \
	}                                                                                          \
                                                                                                   \
	static SAMPLE_SELDOM void *name##_marked params                                            \
	{                                                                                          \
		void *(*function)params = LOAD(name##_next.passes);                                \
                                                                                                   \
		exact_mark(FORM_OF(name), BOOK_FORM_OF_ALLOCS, __builtin_frame_address(0));        \
		return function args;                                                              \
	}                                                                                          \
                                                                                                   \
	static SAMPLE_SELDOM void *name##_first params                                             \
	{                                                                                          \
		void *(*function)params = LOAD(name##_next.passes);                                \
		uint64_t mark = sample_mark();                                                     \
		void *block;                                                                       \
                                                                                                   \
		if (function && exact_is_on())                                                     \
			return exact_looks_at_forms() ? name##_marked args : function args;        \
		if (!function)                                                                     \
			function = LOAD(name##_next.plain);                                        \
		block = function args;                                                             \
		sample_returned(block, size, mark);                                                \
		return block;                                                                      \
	}                                                                                          \
                                                                                                   \
	static SAMPLE_SELDOM void *name##_seldom AND_CALLER params                                 \
	{                                                                                          \
		void *(*function)params = LOAD(name##_next.passes);                                \
                                                                                                   \
		if (function)                                                                      \
			return exact_looks_at_forms() ? name##_marked args : function args;        \
		if (LOAD(name##_next.counts))                                                      \
			return name##_counts args;                                                 \
		function =                                                                         \
			find_operator(&name##_next, &name##_absent, #name, may_be_plain, caller);  \
		if (!function)                                                                     \
			return plain_new(size, alignment_or_0, throws);                            \
		return LOAD(name##_next.counts) ? name##_counts args : name##_first args;          \
	}

/* Where the library's operator is called and nothing marked: a jump, and else as by _seldom. */
#define PASSED(type, name, params, args)                                                           \
	static SAMPLE_PASSED type name##_passed AND_CALLER params                                  \
	{                                                                                          \
		type(*function) params = LOAD(name##_next.passes);                                 \
                                                                                                   \
		if (function && exact_looks_at_no_forms())                                         \
			return function args;                                                      \
		return name##_seldom AND_ITS_CALLER args;                                          \
	}

/* Of an alignment: there are run-time libraries that make room for it beside the block. */
#define NEW_ALIGNED(name, throws, params, args)                                                    \
	NEW_SELDOM(name, false, alignment, throws, params, args)                                   \
                                                                                                   \
	SAMPLE_EXPORT void *name params;                                                           \
	SAMPLE_EXPORT void *name params                                                            \
	{                                                                                          \
		return name##_seldom WITH_CALLER args;                                             \
	}

#define NEW(name, throws, params, args)                                                            \
	NEW_SELDOM(name, true, 0, throws, params, args)                                            \
	PASSED(void *, name, params, args)                                                         \
                                                                                                   \
	/* Whose handler and exception the library has, and who then counts there. */              \
	static SAMPLE_SELDOM void *name##_failed params                                            \
	{                                                                                          \
		void *(*function)params = LOAD(name##_next.plain);                                 \
                                                                                                   \
		return function args;                                                              \
	}                                                                                          \
                                                                                                   \
	SAMPLE_EXPORT SAMPLE_HOT void *name params;                                                \
	SAMPLE_EXPORT SAMPLE_HOT void *name params                                                 \
	{                                                                                          \
		void *block;                                                                       \
                                                                                                   \
		if (SAMPLE_RARELY(!LOAD(name##_next.plain)))                                       \
			return name##_passed WITH_CALLER args;                                     \
		size += !size; /* as the library does: no two blocks are at one address */         \
		block = next.malloc(size);                                                         \
		if (SAMPLE_RARELY(!block))                                                         \
			return name##_failed args;                                                 \
		if (SAMPLE_RARELY(!sample_pass(size)))                                             \
			return is_sample(block, size);                                             \
		return block;                                                                      \
	}

#define DELETE_SELDOM(name, may_be_plain, params, args)                                            \
	static struct next_operator name##_next SAMPLE_BESIDE_NEXT;                                \
	static struct absent name##_absent;                                                        \
                                                                                                   \
	static SAMPLE_SELDOM void name##_marked params                                             \
	{                                                                                          \
		void(*function) params = LOAD(name##_next.passes);                                 \
                                                                                                   \
		exact_mark(FORM_OF(name), BOOK_FORM_OF_FREES, __builtin_frame_address(0));         \
		function args;                                                                     \
	}                                                                                          \
                                                                                                   \
	static SAMPLE_SELDOM void name##_seldom AND_CALLER params                                  \
	{                                                                                          \
		void(*function) params = LOAD(name##_next.passes);                                 \
                                                                                                   \
		if (function) {                                                                    \
			if (exact_looks_at_forms())                                                \
				name##_marked args;                                                \
			else                                                                       \
				function args;                                                     \
			return;                                                                    \
		}                                                                                  \
		function = LOAD(name##_next.counts);                                               \
		if (!function)                                                                     \
			function = find_operator(&name##_next, &name##_absent, #name,              \
						 may_be_plain, caller);                            \
		if (!function) {                                                                   \
			free(block);                                                               \
			return;                                                                    \
		}                                                                                  \
		if (!LOAD(name##_next.counts)) {                                                   \
			if (LOAD(name##_next.passes) && exact_looks_at_forms())                    \
				name##_marked args;                                                \
			else                                                                       \
				function args;                                                     \
			return;                                                                    \
		}                                                                                  \
		if (exact_is_on()) {                                                               \
			struct exact_call call = EXACT_CALL();                                     \
			bool begun;                                                                \
                                                                                                   \
			exact_free(block,                                                          \
				   IS_ARRAY(name) ? ABI_BOOK_DELETE_ARRAY : ABI_BOOK_DELETE,       \
				   &call.from);                                                    \
			/* An allocator's delete may be a call of its free, by name. */            \
			begun = exact_begin(&call);                                                \
			function args;                                                             \
			if (begun)                                                                 \
				exact_leave(&call);                                                \
			return;                                                                    \
		}                                                                                  \
		if (sample_may_have(block))                                                        \
			(void)sample_forget(block);                                                \
		function args;                                                                     \
	}

#define DELETE_ALIGNED(name, params, args)                                                         \
	DELETE_SELDOM(name, false, params, args)                                                   \
                                                                                                   \
	SAMPLE_EXPORT void name params;                                                            \
	SAMPLE_EXPORT void name params                                                             \
	{                                                                                          \
		name##_seldom WITH_CALLER args;                                                    \
	}

#define DELETE(name, params, args)                                                                 \
	DELETE_SELDOM(name, true, params, args)                                                    \
	PASSED(void, name, params, args)                                                           \
                                                                                                   \
	SAMPLE_EXPORT SAMPLE_HOT void name params;                                                 \
	SAMPLE_EXPORT SAMPLE_HOT void name params                                                  \
	{                                                                                          \
		if (SAMPLE_RARELY(!LOAD(name##_next.plain))) {                                     \
			name##_passed WITH_CALLER args;                                            \
			return;                                                                    \
		}                                                                                  \
		if (sample_may_have(block))                                                        \
			free_known(block);                                                         \
		else                                                                               \
			next.free(block);                                                          \
	}

NEW(_Znwm, true, (size_t size), (size))
NEW(_Znam, true, (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, false, (size_t size, const struct nothrow *tag), (size, tag))
NEW(_ZnamRKSt9nothrow_t, false, (size_t size, const struct nothrow *tag), (size, tag))
NEW_ALIGNED(_ZnwmSt11align_val_t, true, (size_t size, size_t alignment), (size, alignment))
NEW_ALIGNED(_ZnamSt11align_val_t, true, (size_t size, size_t alignment), (size, alignment))
NEW_ALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t, false,
	    (size_t size, size_t alignment, const struct nothrow *tag), (size, alignment, tag))
NEW_ALIGNED(_ZnamSt11align_val_tRKSt9nothrow_t, false,
	    (size_t size, size_t alignment, const struct nothrow *tag), (size, alignment, tag))

DELETE(_ZdlPv, (void *block), (block))
DELETE(_ZdaPv, (void *block), (block))
DELETE(_ZdlPvm, (void *block, size_t size), (block, size))
DELETE(_ZdaPvm, (void *block, size_t size), (block, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const struct nothrow *tag), (block, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const struct nothrow *tag), (block, tag))
DELETE_ALIGNED(_ZdlPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE_ALIGNED(_ZdaPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE_ALIGNED(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
	       (block, size, alignment))
DELETE_ALIGNED(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
	       (block, size, alignment))
DELETE_ALIGNED(_ZdlPvSt11align_val_tRKSt9nothrow_t,
	       (void *block, size_t alignment, const struct nothrow *tag), (block, alignment, tag))
DELETE_ALIGNED(_ZdaPvSt11align_val_tRKSt9nothrow_t,
	       (void *block, size_t alignment, const struct nothrow *tag), (block, alignment, tag))

#define OPERATOR(name, may_be_plain)                                                               \
	{                                                                                          \
		&name##_next, #name, may_be_plain                                                  \
	}

static const struct {
	struct next_operator *found;
	const char *name;
	bool may_be_plain;
} operators[] = {
	OPERATOR(_Znwm, true),
	OPERATOR(_Znam, true),
	OPERATOR(_ZnwmRKSt9nothrow_t, true),
	OPERATOR(_ZnamRKSt9nothrow_t, true),
	OPERATOR(_ZnwmSt11align_val_t, false),
	OPERATOR(_ZnamSt11align_val_t, false),
	OPERATOR(_ZnwmSt11align_val_tRKSt9nothrow_t, false),
	OPERATOR(_ZnamSt11align_val_tRKSt9nothrow_t, false),
	OPERATOR(_ZdlPv, true),
	OPERATOR(_ZdaPv, true),
	OPERATOR(_ZdlPvm, true),
	OPERATOR(_ZdaPvm, true),
	OPERATOR(_ZdlPvRKSt9nothrow_t, true),
	OPERATOR(_ZdaPvRKSt9nothrow_t, true),
	OPERATOR(_ZdlPvSt11align_val_t, false),
	OPERATOR(_ZdaPvSt11align_val_t, false),
	OPERATOR(_ZdlPvmSt11align_val_t, false),
	OPERATOR(_ZdaPvmSt11align_val_t, false),
	OPERATOR(_ZdlPvSt11align_val_tRKSt9nothrow_t, false),
	OPERATOR(_ZdaPvSt11align_val_tRKSt9nothrow_t, false),
};

static void seek_others(const void *caller)
{
	static bool all_sought;
	bool is_replaced;

	if (__atomic_exchange_n(&all_sought, true, __ATOMIC_RELAXED))
		return;
	is_replaced = any_is_replaced(caller);
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (!is_found(operators[i].found))
			(void)seek_operator(operators[i].found, operators[i].name,
					    operators[i].may_be_plain && !is_replaced, caller);
}

/* Of a program with a run-time library: before any thread can be in dlopen(). */
__attribute__((constructor)) static void seek_all(void)
{
	if (next_look_up(RTLD_NEXT, operators[0].name))
		seek_others(NULL);
}
