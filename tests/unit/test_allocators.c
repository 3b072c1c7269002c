/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/allocators.h"

#include "bpf/abi.h"

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
	assert_true(n >= 31);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(allocator_function_find(rows[i].name), &rows[i]);
	assert_null(allocator_function_find("mallocx"));
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
		bool is_new = strncmp(rows[i].name, "_Znw", 4) == 0 ||
			      strncmp(rows[i].name, "_Zna", 4) == 0;

		assert_int_equal(rows[i].may_throw, is_new && !strstr(rows[i].name, "nothrow"));
		n_throw += rows[i].may_throw;
	}
	assert_int_equal(n_throw, 4);
}

static void this_process_s_own_realloc_does_as_its_row_says(void **state)
{
	const struct allocator_family *family = allocator_family_find("gnu_get_libc_version");
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
	assert_true(allocator_family_find("mallctl") < family);
	assert_null(allocator_family_find("malloc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_found_by_its_name_and_only_once),
		cmocka_unit_test(a_probe_needs_the_arguments_that_its_kind_reads),
		cmocka_unit_test(only_operators_and_their_like_forward_and_only_to_their_kind),
		cmocka_unit_test(operators_that_may_throw_are_those_without_nothrow),
		cmocka_unit_test(this_process_s_own_realloc_does_as_its_row_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
