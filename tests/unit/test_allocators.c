/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/allocators.h"

#include "bpf/abi.h"
#include "build_object.h"
#include "elf/elf_file.h"

#include <fnmatch.h>
#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_row_is_found_by_its_name_and_only_once(void **state)
{
	const struct allocator_function *rows;
	size_t n;

	(void)state;
	rows = allocator_functions(&n);
	assert_true(n >= 180);
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(allocator_function_find(rows[i].name), &rows[i]);
		if (i)
			assert_true(strcmp(rows[i - 1].name, rows[i].name) < 0);
	}
	assert_null(allocator_function_find("nallocx"));
	assert_null(allocator_function_find("mallo"));
	assert_null(allocator_function_find(""));
}

static void a_probe_needs_the_arguments_that_its_kind_reads(void **state)
{
	static const struct {
		const char *name;
		uint8_t kind;
		unsigned mask;
		bool returns_block;
	} cases[] = {
		{ "free", ABI_FREE, 1, false },
		{ "_ZdlPvmSt11align_val_t", ABI_FREE, 1, false },
		{ "malloc", ABI_ALLOC, 1, true },
		{ "calloc", ABI_ALLOC, 3, true },
		{ "memalign", ABI_ALLOC, 2, true },
		{ "_ZnamSt11align_val_t", ABI_ALLOC, 1, true },
		{ "realloc", ABI_REALLOC, 3, true },
		{ "reallocarray", ABI_REALLOC, 7, true },
		{ "posix_memalign", ABI_OUT_PARAM, 5, false },
		{ "mallocx", ABI_ALLOC, 1, true },
		{ "je_rallocx", ABI_REALLOC, 3, true },
		{ "_rjem_xallocx", ABI_RESIZE, 7, false },
		{ "_rjem_sdallocx", ABI_FREE, 1, false },
		{ "tc_newarray_aligned", ABI_ALLOC, 1, true },
		{ "mi_heap_recalloc", ABI_REALLOC, 0xe, true },
		{ "mi_heap_reallocf", ABI_REALLOC | ABI_FAILURE_FREES, 6, true },
		{ "mi_strdup", ABI_STRING, 0, true },
		{ "mi_urealloc", ABI_REALLOC, 3, true },
		{ "mi_theap_calloc", ABI_ALLOC, 6, true },
		{ "mi_theap_rezalloc", ABI_REALLOC, 6, true },
		{ "mi_free_small_local", ABI_FREE, 1, false },
		{ "__rust_alloc_zeroed", ABI_ALLOC, 1, true },
		{ "__rust_realloc", ABI_REALLOC, 9, true },
		{ "__rust_dealloc", ABI_FREE, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct allocator_function *row = allocator_function_find(cases[i].name);

		assert_non_null(row);
		assert_int_equal(row->kind, cases[i].kind);
		assert_int_equal(allocator_argument_mask(row), cases[i].mask);
		assert_int_equal(allocator_returns_block(row), cases[i].returns_block);
	}
}

static void only_operators_and_their_like_forward_and_only_to_their_kind(void **state)
{
	static const struct {
		const char *function, *via;
		bool forwards;
	} cases[] = {
		{ "_Znwm", "malloc", true },
		{ "_ZnwmSt11align_val_t", "posix_memalign", true },
		{ "_Znam", "_Znwm", true },
		{ "_Znam", "_Znam", false },
		{ "_Znwm", "free", false },
		{ "_Znwm", "realloc", false },
		{ "_ZdlPv", "free", true },
		{ "_ZdlPvm", "_ZdlPv", true },
		{ "_ZdlPv", "malloc", false },
		{ "cfree", "free", true },
		{ "reallocarray", "realloc", false },
		{ "reallocarray", "malloc", false },
		{ "realloc", "malloc", false },
		{ "calloc", "malloc", false },
		{ "memalign", "aligned_alloc", false },
		{ "tc_free_sized", "tc_free", false },
		{ "__rust_alloc", "__rdl_alloc", true },
		{ "__rdl_alloc", "posix_memalign", true },
		{ "__rdl_realloc", "realloc", true },
		{ "__rdl_realloc", "posix_memalign", true },
		{ "__rdl_realloc", "free", false },
		{ "__rg_dealloc", "_rjem_sdallocx", true },
		{ "mi_new_realloc", "mi_realloc", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(allocator_forwards_to(allocator_function_find(cases[i].function),
						       allocator_function_find(cases[i].via)),
				 cases[i].forwards);
}

static void operators_that_may_throw_are_those_without_nothrow(void **state)
{
	const struct allocator_function *rows;
	size_t n, n_throw = 0;

	(void)state;
	rows = allocator_functions(&n);
	for (size_t i = 0; i < n; i++) {
		const char *name = rows[i].name;
		bool is_new = strncmp(name, "_Znw", 4) == 0 || strncmp(name, "_Zna", 4) == 0 ||
			      strncmp(name, "tc_new", 6) == 0 || strncmp(name, "mi_new", 6) == 0 ||
			      strncmp(name, "mi_heap_alloc_new", 17) == 0 ||
			      strncmp(name, "mi_theap_alloc_new", 18) == 0;

		assert_int_equal(rows[i].may_throw, is_new && !strstr(rows[i].name, "nothrow"));
		n_throw += rows[i].may_throw;
	}
	assert_int_equal(n_throw, 4 + 4 + 5 + 2 + 2);
}

static void this_process_s_own_realloc_does_as_its_row_says(void **state)
{
	const struct allocator_family *family = allocator_family_marked("gnu_get_libc_version");
	void *(*volatile resize)(void *, size_t) = realloc; /* no compiler's idea of size 0 */
	void *block = malloc(100), *result;

	(void)state;
	assert_non_null(block);
	assert_non_null(family);
	assert_string_equal(family->name, "glibc");
	assert_non_null(gnu_get_libc_version());
	result = resize(block, 0);
	assert_int_equal(result == NULL, family->realloc0_frees);
	free(result);
	assert_true(allocator_family_marked("mallctl") < family);
	assert_null(allocator_family_marked("malloc"));
}

static void an_allocator_s_own_names_tell_its_family(void **state)
{
	static const struct {
		const char *function, *family;
		bool realloc0_frees;
	} cases[] = {
		{ "je_realloc", "jemalloc", true },
		{ "_rjem_realloc", "jemalloc", true },
		{ "tc_realloc", "tcmalloc", true },
		{ "mi_realloc", "mimalloc", false },
		{ "mi_heap_realloc", "mimalloc", false },
		{ "memtraced_malloclike_block", "memtraced.h", false },
	};
	static const char *const nobody_s[] = { "realloc", "mallocx", "__rust_realloc", "_Znwm" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct allocator_family *family =
			allocator_family_of(allocator_function_find(cases[i].function));

		assert_non_null(family);
		assert_string_equal(family->name, cases[i].family);
		assert_int_equal(family->realloc0_frees, cases[i].realloc0_frees);
	}
	for (size_t i = 0; i < sizeof(nobody_s) / sizeof(nobody_s[0]); i++)
		assert_null(allocator_family_of(allocator_function_find(nobody_s[i])));
}

static void of_several_names_of_one_address_the_best_known_is_preferred(void **state)
{
	/* As libmimalloc, libtcmalloc and libc.so.6 have them. */
	static const char *const pairs[][2] = {
		{ "malloc", "mi_malloc" },
		{ "free", "_ZdlPv" },
		{ "_ZdlPv", "_ZdaPv" },
		{ "_Znwm", "_Znam" },
		{ "_ZdlPvm", "tc_deletearray_sized" },
		{ "free", "cfree" },
		{ "aligned_alloc", "memalign" },
		{ "cfree", "_ZdlPv" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct allocator_function *a = allocator_function_find(pairs[i][0]);
		const struct allocator_function *b = allocator_function_find(pairs[i][1]);

		assert_true(allocator_function_compare(a, b) < 0);
		assert_true(allocator_function_compare(b, a) > 0);
	}
}

static void rust_s_functions_are_known_under_their_mangled_names_as_well(void **state)
{
	static const struct {
		const char *symbol, *row;
	} cases[] = {
		{ "_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc", "__rust_alloc" },
		{ "_RNvCsfLfy6EI15iL_7___rustc13___rdl_realloc", "__rdl_realloc" },
		{ "_RNvCsfLfy6EI15iL_7___rustc19___rust_alloc_zeroed", "__rust_alloc_zeroed" },
		{ "_RNvCsfLfy6EI15iL_7___rustc26___rust_alloc_error_handler", NULL },
		{ "_RNvCsfLfy6EI15iL_7___rustc", NULL },
		{ "_RNvCsfLfy6EI15iL_7___rustc12", NULL },
		{ "_RNvCsfLfy6EI15iL_5_crate12___rust_alloc", NULL },
		{ "_RNvC", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_ptr_equal(allocator_function_find(cases[i].symbol),
				 cases[i].row ? allocator_function_find(cases[i].row) : NULL);
}

static void names_tell_the_form(void **state)
{
	static const struct {
		const char *name;
		uint8_t forms;
	} cases[] = {
		{ "malloc", ABI_FORM_C },
		{ "sdallocx", ABI_FORM_C },
		{ "mi_free", ABI_FORM_C },
		{ "_Znwm", 1 << ABI_FORM_NEW },
		{ "_ZnwmSt11align_val_tRKSt9nothrow_t", 1 << ABI_FORM_NEW },
		{ "_ZdlPvmSt11align_val_t", 1 << ABI_FORM_NEW },
		{ "_Znam", 1 << ABI_FORM_ARRAY },
		{ "_ZdaPvm", 1 << ABI_FORM_ARRAY },
		{ "tc_new_aligned", 1 << ABI_FORM_NEW },
		{ "tc_newarray", 1 << ABI_FORM_ARRAY },
		{ "tc_deletearray_sized", 1 << ABI_FORM_ARRAY },
		{ "mi_new_n", ABI_FORM_C | 1 << ABI_FORM_NEW | 1 << ABI_FORM_ARRAY },
		{ "__rust_alloc", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(allocator_function_forms(allocator_function_find(cases[i].name)),
				 cases[i].forms);
}

/* Names of what may make or free blocks, and of those that need no row, with the reason. */
static const char *const suspects[] = { "*alloc*",     "*free*",      "*align*", "*dup*",
					"*realpath*",  "mi_*expand*", "_Zn*",	 "_Zd*",
					"tc_new*",     "tc_delete*",  "mi_new*", "mi_*delete*",
					"mi_*destroy*" };
static const struct {
	const char *pattern, *reason;
} exceptions[] = {
	{ "_ZN*", "a member of a class: the allocator's own, below its functions" },
	{ "_ZZ*", "local to such a member" },
	{ "_ZT*", "data" },
	{ "_ZK*", "a constant member" },
	{ "_Z*TCMalloc_*Threads*", "stops threads" },
	{ "_Z*TCMalloc_System*", "gperftools' maps memory for its spans" },
	{ "TCMalloc*", "asks, or stops threads" },
	{ "_Z*GetUniquePathFromEnv*", "makes no block" },
	{ "_Z*tc_get_sysalloc_override*", "makes no block" },
	{ "memalignment", "asks" },
	{ "*usable_size", "asks" },
	{ "*malloc_size", "asks" },
	{ "*good_size", "asks" },
	{ "*nallocx", "asks what mallocx would make" },
	{ "sallocx", "asks" },
	{ "malloc_stats*", "prints" },
	{ "tc_malloc_stats", "prints" },
	{ "malloc_info", "prints" },
	{ "malloc_trim", "gives free memory back" },
	{ "MallocExtension_*", "asks or sets" },
	{ "MallocHook_*", "sets or calls a hook" },
	{ "_aligned_malloc", "jumps to mi_malloc_aligned" },
	{ "reallocarr", "jumps to mi_reallocarr" },
	{ "vfree", "jumps to mi_free" },
	{ "__libc_reallocarray", "calls realloc" },
	{ "__libc_[pv]*alloc", "jumps to mi_valloc or mi_pvalloc" },
	{ "__libc_memalign", "jumps to mi_memalign" },
	{ "__posix_memalign", "jumps to mi_posix_memalign" },
	{ "mi_reallocarr", "the block is behind a pointer; calls mi_realloc or mi_reallocarray" },
	{ "mi_realpath", "makes a block only without a buffer; that one is an unknown block" },
	{ "mi_heap_realpath", "as mi_realpath" },
	{ "mi_mbsdup", "calls mi_strdup" },
	{ "mi_wcsdup", "calls mi_malloc" },
	{ "mi_dupenv_s", "calls mi_strdup" },
	{ "mi_wdupenv_s", "always fails" },
	{ "mi_arena_min_alignment", "asks" },
	{ "mi_register_deferred_free", "sets a hook" },
	{ "mi_*_delete", "hands blocks over, or ends a profiler" },
	{ "mi_*_destroy", "frees all blocks of a heap, unseen: docs/guide/accuracy.md" },
	{ "__libc_alloc*", "the C library's buffers, which call malloc" },
	{ "__libc_freeres", "the C library's own, which call free" },
	{ "__libc_scratch_buffer_*", "as __libc_alloc*" },
	{ "_IO_*", "buffers of stdio, which call malloc and free" },
	{ "__strdup", "calls malloc" },
	{ "strdup", "calls malloc" },
	{ "__strndup", "calls malloc" },
	{ "strndup", "calls malloc" },
	{ "wcsdup", "calls malloc" },
	{ "realpath", "calls malloc" },
	{ "__realpath_chk", "calls malloc" },
	{ "*obstack_*", "calls its program's functions" },
	{ "*duplocale", "calls malloc" },
	{ "*freelocale", "calls free" },
	{ "*dup2", "of file descriptors" },
	{ "dup", "of file descriptors" },
	{ "dup3", "of file descriptors" },
	{ "free*addrs", "calls free" },
	{ "freeaddrinfo", "calls free" },
	{ "globfree*", "calls free" },
	{ "if_freenameindex", "calls free" },
	{ "regfree", "calls free" },
	{ "wordfree", "calls free" },
	{ "xdr_free", "calls its argument" },
	{ "*fallocate*", "of files" },
	{ "pkey_*", "of protection keys" },
	{ "__sched_cpu*", "calls malloc or free" },
	{ "inet6_option_*", "of a buffer of the caller's" },
};

static bool is_suspect(const char *name)
{
	for (size_t i = 0; i < sizeof(suspects) / sizeof(suspects[0]); i++)
		if (fnmatch(suspects[i], name, 0) == 0)
			return true;
	return false;
}

static const char *exception_of(const char *name)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
		if (fnmatch(exceptions[i].pattern, name, 0) == 0)
			return exceptions[i].reason;
	return NULL;
}

/* Is the code there probed under any of its names? */
static bool has_row(const struct elf_file *file, uint64_t value)
{
	size_t n;
	const struct elf_symbol *names = elf_file_symbols_at(file, value, &n);

	for (size_t i = 0; i < n; i++)
		if (allocator_function_find(names[i].name))
			return true;
	return false;
}

/* The number of suspects of the library, 0: not installed. `unknown` counts those to be added. */
static size_t check_library(const char *name, size_t *unknown)
{
	_cleanup_close_ int fd = open_library(name);
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	const struct elf_symbol *symbols;
	size_t n, n_suspects = 0;

	if (fd < 0)
		return 0;
	assert_int_equal(elf_file_new(fd, &file), 0);
	symbols = elf_file_symbols(file, &n);
	for (size_t i = 0; i < n; i++) {
		if (!is_suspect(symbols[i].name))
			continue;
		n_suspects++;
		if (has_row(file, symbols[i].value) || exception_of(symbols[i].name))
			continue;
		print_error("%s: neither a row nor an exception: %s\n", name, symbols[i].name);
		++*unknown;
	}
	return n_suspects;
}

static void each_function_of_an_installed_allocator_has_a_row_or_a_reason(void **state)
{
	static const char *const libraries[] = { "libjemalloc.so.2", "libtcmalloc_minimal.so.4",
						 "libtcmalloc.so.4", "libmimalloc.so.2",
						 "libmimalloc.so.3" };
	size_t unknown = 0, n = check_library("libc.so.6", &unknown);

	(void)state;
	assert_true(n > 40);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		n = check_library(libraries[i], &unknown);
		assert_true(n == 0 || n > 20);
	}
	assert_int_equal(unknown, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_found_by_its_name_and_only_once),
		cmocka_unit_test(a_probe_needs_the_arguments_that_its_kind_reads),
		cmocka_unit_test(only_operators_and_their_like_forward_and_only_to_their_kind),
		cmocka_unit_test(operators_that_may_throw_are_those_without_nothrow),
		cmocka_unit_test(this_process_s_own_realloc_does_as_its_row_says),
		cmocka_unit_test(an_allocator_s_own_names_tell_its_family),
		cmocka_unit_test(of_several_names_of_one_address_the_best_known_is_preferred),
		cmocka_unit_test(names_tell_the_form),
		cmocka_unit_test(each_function_of_an_installed_allocator_has_a_row_or_a_reason),
		cmocka_unit_test(rust_s_functions_are_known_under_their_mangled_names_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
