/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/allocators.h"

#include "bpf/abi.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ROW(symbol, k, ...)                                                                        \
	{                                                                                          \
		.name = symbol, .kind = k, __VA_ARGS__                                             \
	}
#define FREE(symbol) ROW(symbol, ABI_FREE, .args = 0)
#define ALLOC(symbol, size) ROW(symbol, ABI_ALLOC, .args = size)
#define STRING(symbol) ROW(symbol, ABI_STRING, .args = 0)
#define OUT_PARAM(symbol, size) ROW(symbol, ABI_OUT_PARAM, .args = size)
#define REALLOC(symbol, size) ROW(symbol, ABI_REALLOC, .args = size)
#define REALLOCF(symbol, size) ROW(symbol, ABI_REALLOC | ABI_FAILURE_FREES, .args = size)
#define RESIZE(symbol, size) ROW(symbol, ABI_RESIZE, .args = size)
#define NEW(symbol, size)                                                                          \
	ROW(symbol, ABI_ALLOC, .args = size, .may_throw = true, .may_forward = true)
#define NEW_REALLOC(symbol, size)                                                                  \
	ROW(symbol, ABI_REALLOC, .args = size, .may_throw = true, .may_forward = true)
#define NOTHROW(symbol, size) ROW(symbol, ABI_ALLOC, .args = size, .may_forward = true)
#define NOTHROW_REALLOC(symbol, size) ROW(symbol, ABI_REALLOC, .args = size, .may_forward = true)
#define DELETE(symbol) ROW(symbol, ABI_FREE, .may_forward = true)

/*
 * In strcmp's order. C++ names: w new, a new[], l delete, a delete[]; m size_t, Pv void *; then
 * align, nothrow. reallocarray calls realloc, but not when the product overflows: a failure to be
 * counted.
 */
/* clang-format off */
static const struct allocator_function functions[] = {
	DELETE("_ZdaPv"),
	DELETE("_ZdaPvRKSt9nothrow_t"),
	DELETE("_ZdaPvSt11align_val_t"),
	DELETE("_ZdaPvSt11align_val_tRKSt9nothrow_t"),
	DELETE("_ZdaPvm"),
	DELETE("_ZdaPvmSt11align_val_t"),
	DELETE("_ZdlPv"),
	DELETE("_ZdlPvRKSt9nothrow_t"),
	DELETE("_ZdlPvSt11align_val_t"),
	DELETE("_ZdlPvSt11align_val_tRKSt9nothrow_t"),
	DELETE("_ZdlPvm"),
	DELETE("_ZdlPvmSt11align_val_t"),
	NEW("_Znam", ABI_SIZE_ARG(1)),
	NOTHROW("_ZnamRKSt9nothrow_t", ABI_SIZE_ARG(1)),
	NEW("_ZnamSt11align_val_t", ABI_SIZE_ARG(1)),
	NOTHROW("_ZnamSt11align_val_tRKSt9nothrow_t", ABI_SIZE_ARG(1)),
	NEW("_Znwm", ABI_SIZE_ARG(1)),
	NOTHROW("_ZnwmRKSt9nothrow_t", ABI_SIZE_ARG(1)),
	NEW("_ZnwmSt11align_val_t", ABI_SIZE_ARG(1)),
	NOTHROW("_ZnwmSt11align_val_tRKSt9nothrow_t", ABI_SIZE_ARG(1)),
	NOTHROW("__rdl_alloc", ABI_SIZE_ARG(1)),
	NOTHROW("__rdl_alloc_zeroed", ABI_SIZE_ARG(1)),
	DELETE("__rdl_dealloc"),
	NOTHROW_REALLOC("__rdl_realloc", ABI_SIZE_ARG(4)),
	NOTHROW("__rg_alloc", ABI_SIZE_ARG(1)),
	NOTHROW("__rg_alloc_zeroed", ABI_SIZE_ARG(1)),
	DELETE("__rg_dealloc"),
	NOTHROW_REALLOC("__rg_realloc", ABI_SIZE_ARG(4)),
	NOTHROW("__rust_alloc", ABI_SIZE_ARG(1)),
	NOTHROW("__rust_alloc_zeroed", ABI_SIZE_ARG(1)),
	DELETE("__rust_dealloc"),
	NOTHROW_REALLOC("__rust_realloc", ABI_SIZE_ARG(4)),
	ALLOC("_rjem_aligned_alloc", ABI_SIZE_ARG(2)),
	ALLOC("_rjem_calloc", ABI_SIZE_PRODUCT(1, 2)),
	FREE("_rjem_dallocx"),
	FREE("_rjem_free"),
	FREE("_rjem_free_aligned_sized"),
	FREE("_rjem_free_sized"),
	ALLOC("_rjem_malloc", ABI_SIZE_ARG(1)),
	ALLOC("_rjem_mallocx", ABI_SIZE_ARG(1)),
	ALLOC("_rjem_memalign", ABI_SIZE_ARG(2)),
	OUT_PARAM("_rjem_posix_memalign", ABI_SIZE_ARG(3)),
	ALLOC("_rjem_pvalloc", ABI_SIZE_ARG(1)),
	REALLOC("_rjem_rallocx", ABI_SIZE_ARG(2)),
	REALLOC("_rjem_realloc", ABI_SIZE_ARG(2)),
	FREE("_rjem_sdallocx"),
	ALLOC("_rjem_valloc", ABI_SIZE_ARG(1)),
	RESIZE("_rjem_xallocx", ABI_SIZE_SUM(2, 3)),
	ALLOC("aligned_alloc", ABI_SIZE_ARG(2)),
	ALLOC("calloc", ABI_SIZE_PRODUCT(1, 2)),
	DELETE("cfree"),
	FREE("dallocx"),
	FREE("free"),
	FREE("free_aligned_sized"),
	FREE("free_sized"),
	ALLOC("je_aligned_alloc", ABI_SIZE_ARG(2)),
	ALLOC("je_calloc", ABI_SIZE_PRODUCT(1, 2)),
	FREE("je_dallocx"),
	FREE("je_free"),
	FREE("je_free_aligned_sized"),
	FREE("je_free_sized"),
	ALLOC("je_malloc", ABI_SIZE_ARG(1)),
	ALLOC("je_mallocx", ABI_SIZE_ARG(1)),
	ALLOC("je_memalign", ABI_SIZE_ARG(2)),
	OUT_PARAM("je_posix_memalign", ABI_SIZE_ARG(3)),
	ALLOC("je_pvalloc", ABI_SIZE_ARG(1)),
	REALLOC("je_rallocx", ABI_SIZE_ARG(2)),
	REALLOC("je_realloc", ABI_SIZE_ARG(2)),
	FREE("je_sdallocx"),
	ALLOC("je_valloc", ABI_SIZE_ARG(1)),
	RESIZE("je_xallocx", ABI_SIZE_SUM(2, 3)),
	ALLOC("malloc", ABI_SIZE_ARG(1)),
	ALLOC("mallocx", ABI_SIZE_ARG(1)),
	ALLOC("memalign", ABI_SIZE_ARG(2)),
	FREE("memtraced_freelike_block"),
	ALLOC("memtraced_malloclike_block", ABI_SIZE_ARG(2)),
	REALLOC("mi__expand", ABI_SIZE_ARG(2)),
	ALLOC("mi_aligned_alloc", ABI_SIZE_ARG(2)),
	REALLOC("mi_aligned_offset_recalloc", ABI_SIZE_PRODUCT(2, 3)),
	REALLOC("mi_aligned_recalloc", ABI_SIZE_PRODUCT(2, 3)),
	ALLOC("mi_calloc", ABI_SIZE_PRODUCT(1, 2)),
	ALLOC("mi_calloc_aligned", ABI_SIZE_PRODUCT(1, 2)),
	ALLOC("mi_calloc_aligned_at", ABI_SIZE_PRODUCT(1, 2)),
	FREE("mi_cfree"),
	REALLOC("mi_expand", ABI_SIZE_ARG(2)),
	FREE("mi_free"),
	FREE("mi_free_aligned"),
	FREE("mi_free_size"),
	FREE("mi_free_size_aligned"),
	FREE("mi_free_small"),
	FREE("mi_free_small_local"),
	FREE("mi_free_small_local_nonnull"),
	FREE("mi_free_small_nonnull"),
	NEW("mi_heap_alloc_new", ABI_SIZE_ARG(2)),
	NEW("mi_heap_alloc_new_n", ABI_SIZE_PRODUCT(2, 3)),
	ALLOC("mi_heap_calloc", ABI_SIZE_PRODUCT(2, 3)),
	ALLOC("mi_heap_calloc_aligned", ABI_SIZE_PRODUCT(2, 3)),
	ALLOC("mi_heap_calloc_aligned_at", ABI_SIZE_PRODUCT(2, 3)),
	ALLOC("mi_heap_malloc", ABI_SIZE_ARG(2)),
	ALLOC("mi_heap_malloc_aligned", ABI_SIZE_ARG(2)),
	ALLOC("mi_heap_malloc_aligned_at", ABI_SIZE_ARG(2)),
	ALLOC("mi_heap_malloc_small", ABI_SIZE_ARG(2)),
	ALLOC("mi_heap_mallocn", ABI_SIZE_PRODUCT(2, 3)),
	REALLOC("mi_heap_realloc", ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_heap_realloc_aligned", ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_heap_realloc_aligned_at", ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2)),
	REALLOCF("mi_heap_reallocf", ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_heap_reallocn", ABI_SIZE_PRODUCT(3, 4) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_heap_recalloc", ABI_SIZE_PRODUCT(3, 4) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_heap_recalloc_aligned", ABI_SIZE_PRODUCT(3, 4) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_heap_recalloc_aligned_at", ABI_SIZE_PRODUCT(3, 4) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_heap_rezalloc", ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_heap_rezalloc_aligned", ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_heap_rezalloc_aligned_at", ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2)),
	STRING("mi_heap_strdup"),
	STRING("mi_heap_strndup"),
	ALLOC("mi_heap_zalloc", ABI_SIZE_ARG(2)),
	ALLOC("mi_heap_zalloc_aligned", ABI_SIZE_ARG(2)),
	ALLOC("mi_heap_zalloc_aligned_at", ABI_SIZE_ARG(2)),
	ALLOC("mi_heap_zalloc_small", ABI_SIZE_ARG(2)),
	ALLOC("mi_malloc", ABI_SIZE_ARG(1)),
	ALLOC("mi_malloc_aligned", ABI_SIZE_ARG(1)),
	ALLOC("mi_malloc_aligned_at", ABI_SIZE_ARG(1)),
	ALLOC("mi_malloc_small", ABI_SIZE_ARG(1)),
	ALLOC("mi_mallocn", ABI_SIZE_PRODUCT(1, 2)),
	ALLOC("mi_memalign", ABI_SIZE_ARG(2)),
	NEW("mi_new", ABI_SIZE_ARG(1)),
	NEW("mi_new_aligned", ABI_SIZE_ARG(1)),
	NOTHROW("mi_new_aligned_nothrow", ABI_SIZE_ARG(1)),
	NEW("mi_new_n", ABI_SIZE_PRODUCT(1, 2)),
	NOTHROW("mi_new_nothrow", ABI_SIZE_ARG(1)),
	NEW_REALLOC("mi_new_realloc", ABI_SIZE_ARG(2)),
	NEW_REALLOC("mi_new_reallocn", ABI_SIZE_PRODUCT(2, 3)),
	OUT_PARAM("mi_posix_memalign", ABI_SIZE_ARG(3)),
	ALLOC("mi_pvalloc", ABI_SIZE_ARG(1)),
	REALLOC("mi_realloc", ABI_SIZE_ARG(2)),
	REALLOC("mi_realloc_aligned", ABI_SIZE_ARG(2)),
	REALLOC("mi_realloc_aligned_at", ABI_SIZE_ARG(2)),
	REALLOC("mi_reallocarray", ABI_SIZE_PRODUCT(2, 3)),
	REALLOCF("mi_reallocf", ABI_SIZE_ARG(2)),
	REALLOC("mi_reallocn", ABI_SIZE_PRODUCT(2, 3)),
	REALLOC("mi_recalloc", ABI_SIZE_PRODUCT(2, 3)),
	REALLOC("mi_recalloc_aligned", ABI_SIZE_PRODUCT(2, 3)),
	REALLOC("mi_recalloc_aligned_at", ABI_SIZE_PRODUCT(2, 3)),
	REALLOC("mi_rezalloc", ABI_SIZE_ARG(2)),
	REALLOC("mi_rezalloc_aligned", ABI_SIZE_ARG(2)),
	REALLOC("mi_rezalloc_aligned_at", ABI_SIZE_ARG(2)),
	STRING("mi_strdup"),
	STRING("mi_strndup"),
	NEW("mi_theap_alloc_new", ABI_SIZE_ARG(2)),
	NEW("mi_theap_alloc_new_n", ABI_SIZE_PRODUCT(2, 3)),
	NOTHROW("mi_theap_alloc_new_nothrow", ABI_SIZE_ARG(2)),
	ALLOC("mi_theap_calloc", ABI_SIZE_PRODUCT(2, 3)),
	ALLOC("mi_theap_malloc", ABI_SIZE_ARG(2)),
	ALLOC("mi_theap_malloc_aligned", ABI_SIZE_ARG(2)),
	ALLOC("mi_theap_malloc_small", ABI_SIZE_ARG(2)),
	REALLOC("mi_theap_realloc", ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2)),
	REALLOC("mi_theap_rezalloc", ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2)),
	ALLOC("mi_theap_zalloc", ABI_SIZE_ARG(2)),
	ALLOC("mi_theap_zalloc_aligned", ABI_SIZE_ARG(2)),
	ALLOC("mi_theap_zalloc_small", ABI_SIZE_ARG(2)),
	ALLOC("mi_ucalloc", ABI_SIZE_PRODUCT(1, 2)),
	FREE("mi_ufree"),
	ALLOC("mi_umalloc", ABI_SIZE_ARG(1)),
	ALLOC("mi_umalloc_aligned", ABI_SIZE_ARG(1)),
	ALLOC("mi_umalloc_small", ABI_SIZE_ARG(1)),
	REALLOC("mi_urealloc", ABI_SIZE_ARG(2)),
	ALLOC("mi_uzalloc_aligned", ABI_SIZE_ARG(1)),
	ALLOC("mi_uzalloc_small", ABI_SIZE_ARG(1)),
	ALLOC("mi_valloc", ABI_SIZE_ARG(1)),
	ALLOC("mi_zalloc", ABI_SIZE_ARG(1)),
	ALLOC("mi_zalloc_aligned", ABI_SIZE_ARG(1)),
	ALLOC("mi_zalloc_aligned_at", ABI_SIZE_ARG(1)),
	ALLOC("mi_zalloc_small", ABI_SIZE_ARG(1)),
	OUT_PARAM("posix_memalign", ABI_SIZE_ARG(3)),
	ALLOC("pvalloc", ABI_SIZE_ARG(1)),
	REALLOC("rallocx", ABI_SIZE_ARG(2)),
	REALLOC("realloc", ABI_SIZE_ARG(2)),
	ROW("reallocarray", ABI_REALLOC, .args = ABI_SIZE_PRODUCT(2, 3), .by_realloc = true),
	REALLOCF("reallocf", ABI_SIZE_ARG(2)),
	FREE("sdallocx"),
	ALLOC("tc_calloc", ABI_SIZE_PRODUCT(1, 2)),
	FREE("tc_cfree"),
	DELETE("tc_delete"),
	DELETE("tc_delete_aligned"),
	DELETE("tc_delete_aligned_nothrow"),
	DELETE("tc_delete_nothrow"),
	DELETE("tc_delete_sized"),
	DELETE("tc_delete_sized_aligned"),
	DELETE("tc_deletearray"),
	DELETE("tc_deletearray_aligned"),
	DELETE("tc_deletearray_aligned_nothrow"),
	DELETE("tc_deletearray_nothrow"),
	DELETE("tc_deletearray_sized"),
	DELETE("tc_deletearray_sized_aligned"),
	FREE("tc_free"),
	FREE("tc_free_aligned_sized"),
	FREE("tc_free_sized"),
	ALLOC("tc_malloc", ABI_SIZE_ARG(1)),
	ALLOC("tc_malloc_skip_new_handler", ABI_SIZE_ARG(1)),
	ALLOC("tc_memalign", ABI_SIZE_ARG(2)),
	NEW("tc_new", ABI_SIZE_ARG(1)),
	NEW("tc_new_aligned", ABI_SIZE_ARG(1)),
	NOTHROW("tc_new_aligned_nothrow", ABI_SIZE_ARG(1)),
	NOTHROW("tc_new_nothrow", ABI_SIZE_ARG(1)),
	NEW("tc_newarray", ABI_SIZE_ARG(1)),
	NEW("tc_newarray_aligned", ABI_SIZE_ARG(1)),
	NOTHROW("tc_newarray_aligned_nothrow", ABI_SIZE_ARG(1)),
	NOTHROW("tc_newarray_nothrow", ABI_SIZE_ARG(1)),
	OUT_PARAM("tc_posix_memalign", ABI_SIZE_ARG(3)),
	ALLOC("tc_pvalloc", ABI_SIZE_ARG(1)),
	REALLOC("tc_realloc", ABI_SIZE_ARG(2)),
	ALLOC("tc_valloc", ABI_SIZE_ARG(1)),
	ALLOC("valloc", ABI_SIZE_ARG(1)),
	RESIZE("xallocx", ABI_SIZE_SUM(2, 3)),
};
/* clang-format on */

/*
 * Measured with malloc(100), realloc(p, 0): glibc 2.36, jemalloc 5.3 and gperftools 2.10 return
 * NULL and hand p out again for the next malloc (jemalloc unless opt.zero_realloc says otherwise);
 * musl 1.2.3 and mimalloc 2.0 return a new block. An allocator without a row is taken to do as
 * musl does.
 */
static const struct allocator_family families[] = {
	{ .name = "jemalloc",
	  .realloc0_frees = true,
	  .traces = ALLOCATOR_TRACES_APART,
	  .prefixes = { "je_", "_rjem_" },
	  .marker = "mallctl" },
	{ .name = "tcmalloc",
	  .realloc0_frees = true,
	  .traces = ALLOCATOR_TRACES_INSIDE,
	  .prefixes = { "tc_" } },
	{ .name = "mimalloc", .traces = ALLOCATOR_TRACES_INSIDE, .prefixes = { "mi_" } },
	{ .name = "glibc",
	  .realloc0_frees = true,
	  .has_inner_frees = true,
	  .own_free = "__libc_free",
	  .marker = "gnu_get_libc_version" },
	{ .name = "glibc",
	  .realloc0_frees = true,
	  .has_inner_frees = true,
	  .own_free = "__libc_free",
	  .marker = "_int_malloc" },
	/* include/memtraced.h: of a program's own pool */
	{ .name = "memtraced.h", .prefixes = { "memtraced_" } },
	/* the dynamic one: in a static program none of its names says that it is musl's */
	{ .name = "musl", .own_free = "free", .marker = "__dls3" },
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))
#define N_FAMILIES (sizeof(families) / sizeof(families[0]))
static_assert(N_FAMILIES < ABI_COMPLETE, "a number fits beside the bit");

const struct allocator_function *allocator_functions(size_t *ret_n)
{
	*ret_n = N_FUNCTIONS;
	return functions;
}

static int by_name(const void *name, const void *function)
{
	return strcmp(name, ((const struct allocator_function *)function)->name);
}

/*
 * From 1.87 on, Rust's allocator functions are mangled as items of a crate of their own:
 * _RNvCsfLfy6EI15iL_7___rustc12___rust_alloc.
 */
static const char *without_rust_mangling(const char *symbol)
{
	static const char crate[] = "7___rustc";
	const char *at;

	if (strncmp(symbol, "_RNvC", 5) != 0)
		return symbol;
	at = strstr(symbol, crate);
	if (!at)
		return symbol;
	at += sizeof(crate) - 1;
	while (isdigit((unsigned char)*at))
		at++;
	return *at == '_' ? at + 1 : symbol;
}

const struct allocator_function *allocator_function_find(const char *symbol)
{
	return bsearch(without_rust_mangling(symbol), functions, N_FUNCTIONS, sizeof(functions[0]),
		       by_name);
}

const struct allocator_family *allocator_family_marked(const char *symbol)
{
	for (size_t i = 0; i < N_FAMILIES; i++)
		if (families[i].marker && strcmp(families[i].marker, symbol) == 0)
			return &families[i];
	return NULL;
}

const struct allocator_family *allocator_family_of(const struct allocator_function *function)
{
	for (size_t i = 0; i < N_FAMILIES; i++)
		for (size_t j = 0; j < 2; j++) {
			const char *prefix = families[i].prefixes[j];

			if (prefix && strncmp(function->name, prefix, strlen(prefix)) == 0)
				return &families[i];
		}
	return NULL;
}

const struct allocator_family *allocator_family_numbered(uint8_t number)
{
	return number > 0 && number <= N_FAMILIES ? &families[number - 1] : NULL;
}

uint8_t allocator_function_forms(const struct allocator_function *function)
{
	static const struct {
		const char *prefix;
		uint8_t forms;
	} rules[] = {
		{ "_Zna", 1 << ABI_FORM_ARRAY },
		{ "_Zda", 1 << ABI_FORM_ARRAY },
		{ "_Znw", 1 << ABI_FORM_NEW },
		{ "_Zdl", 1 << ABI_FORM_NEW },
		{ "tc_newarray", 1 << ABI_FORM_ARRAY },
		{ "tc_deletearray", 1 << ABI_FORM_ARRAY },
		{ "tc_new", 1 << ABI_FORM_NEW },
		{ "tc_delete", 1 << ABI_FORM_NEW },
		/* serves both, and what it makes is given to mi_free */
		{ "mi_new", ABI_FORM_C | 1 << ABI_FORM_NEW | 1 << ABI_FORM_ARRAY },
		{ "mi_heap_alloc_new", ABI_FORM_C | 1 << ABI_FORM_NEW | 1 << ABI_FORM_ARRAY },
		{ "mi_theap_alloc_new", ABI_FORM_C | 1 << ABI_FORM_NEW | 1 << ABI_FORM_ARRAY },
		{ "__r", 0 },
	};

	if (function->by_user)
		return 0;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strncmp(function->name, rules[i].prefix, strlen(rules[i].prefix)) == 0)
			return rules[i].forms;
	return ABI_FORM_C;
}

uint8_t allocator_family_number(const struct allocator_family *family)
{
	uint8_t n = 0;

	while (family && n < N_FAMILIES && strcmp(families[n].name, family->name) != 0)
		n++;
	return family ? n + 1 : 0;
}

/*
 * What the user says, the C functions, then what has one name in all of C++, then an allocator's
 * own names.
 */
static int name_rank(const struct allocator_function *function)
{
	if (function->by_user)
		return -1;
	if (allocator_family_of(function))
		return 3;
	if (strncmp(function->name, "_Z", 2) != 0)
		return 0;
	return function->name[3] == 'a' ? 2 : 1;
}

int allocator_function_compare(const struct allocator_function *a,
			       const struct allocator_function *b)
{
	int rank = name_rank(a) - name_rank(b);

	if (!rank)
		rank = a->may_forward - b->may_forward; /* cfree after free */
	return rank ? rank : strcmp(a->name, b->name);
}

bool allocator_returns_block(const struct allocator_function *function)
{
	switch (function->kind & ABI_KIND_MASK) {
	case ABI_ALLOC:
	case ABI_STRING:
	case ABI_REALLOC:
		return true;
	default:
		return false;
	}
}

static bool takes_block(const struct allocator_function *function)
{
	switch (function->kind & ABI_KIND_MASK) {
	case ABI_ALLOC:
	case ABI_STRING:
	case ABI_SCOPE:
		return false;
	default:
		return true; /* also where it is to be put */
	}
}

unsigned allocator_argument_mask(const struct allocator_function *function)
{
	unsigned first = function->args & 0xf, second = function->args >> 4 & 0xf;
	unsigned block = function->args >> 8 ? function->args >> 8 : 1;
	unsigned mask = 0;

	if (takes_block(function))
		mask |= 1U << (block - 1);
	if (first)
		mask |= 1U << (first - 1);
	if (second)
		mask |= 1U << (second - 1);
	return mask;
}

static bool makes_block(uint8_t kind)
{
	return kind == ABI_ALLOC || kind == ABI_OUT_PARAM;
}

bool allocator_forwards_to(const struct allocator_function *function,
			   const struct allocator_function *via)
{
	uint8_t kind = function->kind & ABI_KIND_MASK, via_kind = via->kind & ABI_KIND_MASK;

	if (!function->may_forward || function == via)
		return false;
	if (kind == ABI_ALLOC)
		return makes_block(via_kind);
	/* A new block, a copy and a free, each of which is seen, are a realloc as well. */
	if (kind == ABI_REALLOC)
		return via_kind == ABI_REALLOC || makes_block(via_kind);
	return via_kind == kind;
}
