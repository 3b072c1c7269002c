/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/allocators.h"

#include "bpf/abi.h"

#include <string.h>

#define ALLOC(symbol, size)                                                                        \
	{                                                                                          \
		.name = symbol, .kind = ABI_ALLOC, .args = size                                    \
	}
#define NEW(symbol, throws)                                                                        \
	{                                                                                          \
		.name = symbol, .kind = ABI_ALLOC, .args = ABI_SIZE_ARG(1), .may_throw = throws,   \
		.may_forward = true                                                                \
	}
#define DELETE(symbol)                                                                             \
	{                                                                                          \
		.name = symbol, .kind = ABI_FREE, .may_forward = true                              \
	}

/* C++ names: w new, a new[], l delete, a delete[]; m size_t, Pv void *; then align, nothrow. */
static const struct allocator_function functions[] = {
	{ .name = "free", .kind = ABI_FREE },
	{ .name = "cfree", .kind = ABI_FREE, .may_forward = true },
	ALLOC("malloc", ABI_SIZE_ARG(1)),
	ALLOC("calloc", ABI_SIZE_PRODUCT(1, 2)),
	{ .name = "realloc", .kind = ABI_REALLOC, .args = ABI_SIZE_ARG(2) },
	/* It calls realloc, but not when the product overflows: a failure to be counted. */
	{ .name = "reallocarray", .kind = ABI_REALLOC, .args = ABI_SIZE_PRODUCT(2, 3) },
	{ .name = "posix_memalign", .kind = ABI_OUT_PARAM, .args = ABI_SIZE_ARG(3) },
	ALLOC("aligned_alloc", ABI_SIZE_ARG(2)),
	ALLOC("memalign", ABI_SIZE_ARG(2)),
	ALLOC("valloc", ABI_SIZE_ARG(1)),
	ALLOC("pvalloc", ABI_SIZE_ARG(1)),
	NEW("_Znwm", true),
	NEW("_Znam", true),
	NEW("_ZnwmSt11align_val_t", true),
	NEW("_ZnamSt11align_val_t", true),
	NEW("_ZnwmRKSt9nothrow_t", false),
	NEW("_ZnamRKSt9nothrow_t", false),
	NEW("_ZnwmSt11align_val_tRKSt9nothrow_t", false),
	NEW("_ZnamSt11align_val_tRKSt9nothrow_t", false),
	DELETE("_ZdlPv"),
	DELETE("_ZdaPv"),
	DELETE("_ZdlPvm"),
	DELETE("_ZdaPvm"),
	DELETE("_ZdlPvSt11align_val_t"),
	DELETE("_ZdaPvSt11align_val_t"),
	DELETE("_ZdlPvmSt11align_val_t"),
	DELETE("_ZdaPvmSt11align_val_t"),
	DELETE("_ZdlPvRKSt9nothrow_t"),
	DELETE("_ZdaPvRKSt9nothrow_t"),
	DELETE("_ZdlPvSt11align_val_tRKSt9nothrow_t"),
	DELETE("_ZdaPvSt11align_val_tRKSt9nothrow_t"),
};

/*
 * Measured with malloc(100), realloc(p, 0): glibc 2.36 and jemalloc 5.3 return NULL and hand p out
 * again for the next malloc (jemalloc unless opt.zero_realloc says otherwise); musl 1.2.3 returns
 * a new block. An allocator without a row is taken to do as musl does.
 */
static const struct allocator_family families[] = {
	{ .name = "jemalloc", .realloc0_frees = true, .markers = { "mallctl", "je_mallctl" } },
	{ .name = "glibc",
	  .realloc0_frees = true,
	  .has_inner_frees = true,
	  .markers = { "gnu_get_libc_version", "_int_malloc" } },
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))
#define N_FAMILIES (sizeof(families) / sizeof(families[0]))

const struct allocator_function *allocator_functions(size_t *ret_n)
{
	*ret_n = N_FUNCTIONS;
	return functions;
}

const struct allocator_function *allocator_function_find(const char *symbol)
{
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		if (strcmp(functions[i].name, symbol) == 0)
			return &functions[i];
	return NULL;
}

const struct allocator_family *allocator_family_find(const char *symbol)
{
	for (size_t i = 0; i < N_FAMILIES; i++)
		for (size_t j = 0; j < 2; j++)
			if (families[i].markers[j] && strcmp(families[i].markers[j], symbol) == 0)
				return &families[i];
	return NULL;
}

bool allocator_returns_block(const struct allocator_function *function)
{
	return function->kind == ABI_ALLOC || function->kind == ABI_REALLOC;
}

unsigned allocator_argument_mask(const struct allocator_function *function)
{
	unsigned first = function->args & 0xf, second = function->args >> 4;
	unsigned mask = 0;

	if (function->kind != ABI_ALLOC)
		mask |= 1; /* the block, or where it is to be put */
	if (first)
		mask |= 1U << (first - 1);
	if (second)
		mask |= 1U << (second - 1);
	return mask;
}

bool allocator_forwards_to(const struct allocator_function *function,
			   const struct allocator_function *via)
{
	if (!function->may_forward || function == via)
		return false;
	if (function->kind == ABI_ALLOC)
		return via->kind == ABI_ALLOC || via->kind == ABI_OUT_PARAM;
	return via->kind == function->kind;
}
