/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/allocator_spec.h"

#include "bpf/abi.h"
#include "probe/custom_allocators.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void a_function_s_places_are_the_c_function_s_unless_said(void **state)
{
	static const struct {
		const char *text, *name;
		uint8_t kind;
		uint16_t args;
		bool throws;
	} cases[] = {
		{ "malloc=f", "f", ABI_ALLOC, ABI_SIZE_ARG(1), false },
		{ "malloc=f:ret", "f", ABI_ALLOC, ABI_SIZE_ARG(1), false },
		{ "malloc=f:size@2,ret", "f", ABI_ALLOC, ABI_SIZE_ARG(2), false },
		{ "malloc=f:size@2,throws", "f", ABI_ALLOC, ABI_SIZE_ARG(2), true },
		{ "malloc=f:size@5,count@4", "f", ABI_ALLOC, ABI_SIZE_PRODUCT(5, 4), false },
		{ "malloc=f:out@2", "f", ABI_OUT_PARAM, ABI_SIZE_ARG(1) | ABI_BLOCK_ARG(2), false },
		{ "calloc=f", "f", ABI_ALLOC, ABI_SIZE_PRODUCT(2, 1), false },
		{ "calloc=f:size@3", "f", ABI_ALLOC, ABI_SIZE_PRODUCT(3, 1), false },
		{ "realloc=f", "f", ABI_REALLOC, ABI_SIZE_ARG(2) | ABI_BLOCK_ARG(1), false },
		{ "realloc=f:ptr@3,size@1,count@2", "f", ABI_REALLOC,
		  ABI_SIZE_PRODUCT(1, 2) | ABI_BLOCK_ARG(3), false },
		{ "realloc=f:zero-frees", "f", ABI_REALLOC | ABI_REALLOC0_FREES,
		  ABI_SIZE_ARG(2) | ABI_BLOCK_ARG(1), false },
		{ "free=_ZN4pool3putEPv:ptr@2", "_ZN4pool3putEPv", ABI_SCOPED_FREE,
		  ABI_BLOCK_ARG(2), false },
		{ "inside=f", "f", ABI_SCOPE, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(custom_allocators_free_p) struct custom_allocators *custom = NULL;
		_cleanup_(allocator_spec_done) struct allocator_spec spec = { 0 };
		_cleanup_strbuf_ struct strbuf error = { 0 };
		const struct custom_function *f;
		size_t n;

		if (allocator_spec_parse(cases[i].text, &spec, &error) != 0)
			fail_msg("%s: %s", cases[i].text, strbuf_str(&error));
		assert_string_equal(spec.text, cases[i].text);
		assert_null(spec.object);
		assert_int_equal(custom_allocators_new(&spec, 1, &custom), 0);
		f = custom_allocators_all(custom, &n);
		assert_int_equal(n, 1);
		assert_string_equal(f->row.name, cases[i].name);
		assert_int_equal(f->row.kind, cases[i].kind);
		assert_int_equal(f->row.args, cases[i].args);
		assert_int_equal(f->row.may_throw, cases[i].throws);
		assert_int_equal(f->address, 0);
		assert_true(f->row.by_user);
	}
}

static void a_value_names_several_functions_and_the_file_that_they_are_in(void **state)
{
	static const struct {
		const char *object, *path;
		bool is_in;
	} cases[] = {
		{ "libfoo.so", "/usr/lib/libfoo.so", true },
		{ "libfoo.so", "/usr/lib/libfoo.so.1", false },
		{ "libfoo.so*", "/usr/lib/libfoo.so.1", true },
		{ "/usr/lib/libfoo.so", "/usr/lib/libfoo.so", true },
		{ "/usr/lib/libfoo.so", "/opt/lib/libfoo.so", false },
		{ "prog", "prog", true },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(custom_allocators_free_p) struct custom_allocators *custom = NULL;
		_cleanup_(allocator_spec_done) struct allocator_spec spec = { 0 };
		_cleanup_strbuf_ struct strbuf error = { 0 };
		const struct custom_function *f;
		char text[100];
		size_t n;

		snprintf(text, sizeof(text), "malloc=0x1f40:size@2;object=%s;free=put",
			 cases[i].object);
		assert_int_equal(allocator_spec_parse(text, &spec, &error), 0);
		assert_string_equal(spec.object, cases[i].object);
		assert_int_equal(custom_allocators_new(&spec, 1, &custom), 0);
		f = custom_allocators_all(custom, &n);
		assert_int_equal(n, 2);
		assert_int_equal(f[0].address, 0x1f40);
		assert_string_equal(f[0].row.name, "0x1f40");
		assert_int_equal(f[1].address, 0);
		assert_int_equal(custom_function_is_in(&f[1], cases[i].path), cases[i].is_in);
	}
}

static void what_is_wrong_is_said_with_its_place_and_what_comes_near(void **state)
{
	static const struct {
		const char *text, *error; /* behind "invalid --allocator 'TEXT': " */
	} cases[] = {
		{ "",
		  "at character 1: unknown role '': expected one of malloc, calloc, realloc, free, "
		  "inside, object" },
		{ "mallok=f", "at character 1: unknown role 'mallok'; did you mean 'malloc'?" },
		{ "malloc", "at character 7: a '=' is missing after 'malloc'" },
		{ "malloc=", "at character 8: give the function's symbol, or its address with 0x" },
		{ "malloc=f:",
		  "at character 10: unknown place or property here '': expected one of size, "
		  "count, out, ret, throws" },
		{ "malloc=f:sise@1",
		  "at character 10: unknown place or property here 'sise'; did you mean 'size'?" },
		{ "malloc=f:ptr@1",
		  "at character 10: unknown place or property here 'ptr': expected one of "
		  "size, count, out, ret, throws" },
		{ "free=f:size@1",
		  "at character 8: unknown place or property here 'size': expected one of "
		  "ptr" },
		{ "inside=f:ptr@1", "at character 10: it takes no place or property here" },
		{ "malloc=f:size", "at character 14: say in which argument: size@1 to size@5" },
		{ "malloc=f:size@", "at character 15: arguments are numbered 1 to 5" },
		{ "malloc=f:size@6", "at character 15: arguments are numbered 1 to 5" },
		{ "malloc=f:size@11", "at character 15: arguments are numbered 1 to 5" },
		{ "malloc=f:size@1,size@2", "at character 17: 'size' is given twice" },
		{ "malloc=f:size@1,count@1",
		  "at character 17: 'size' and 'count' are both argument 1" },
		{ "malloc=f:out@1", "at character 8: 'out' is argument 1, so say where 'size' is" },
		{ "malloc=f:size@1,ret,out@2",
		  "at character 21: the block is either returned (ret) "
		  "or put somewhere (out@N)" },
		{ "malloc=f;",
		  "at character 10: unknown role '': expected one of malloc, calloc, realloc, "
		  "free, inside, object" },
		{ "malloc=f free=g", "at character 9: this cannot follow here" },
		{ "malloc=12", "at character 8: invalid symbol '12'; addresses begin with 0x" },
		{ "malloc=0x", "at character 8: invalid address '0x'" },
		{ "malloc=0x0", "at character 8: invalid address '0x0'" },
		{ "malloc=0x12g", "at character 8: invalid address '0x12g'" },
		{ "malloc=0x11112222333344445",
		  "at character 8: invalid address '0x11112222333344445'" },
		{ "malloc=0x12",
		  "at character 12: the address 0x12 needs 'object=FILE' beside it" },
		{ "object=a", "at character 9: no function is named" },
		{ "object=;free=f",
		  "at character 8: give the name of a file, such as libpool.so.1" },
		{ "object=a;object=b;free=f",
		  "at character 17: there is one object in a value: give "
		  "'--allocator' twice" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(allocator_spec_done) struct allocator_spec spec = { 0 };
		_cleanup_strbuf_ struct strbuf error = { 0 };
		char expected[400];

		snprintf(expected, sizeof(expected), "invalid --allocator '%s': %s", cases[i].text,
			 cases[i].error);
		if (allocator_spec_parse(cases[i].text, &spec, &error) != -EINVAL)
			fail_msg("is not refused: %s", cases[i].text);
		assert_string_equal(strbuf_str(&error), expected);
		assert_null(spec.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_s_places_are_the_c_function_s_unless_said),
		cmocka_unit_test(a_value_names_several_functions_and_the_file_that_they_are_in),
		cmocka_unit_test(what_is_wrong_is_said_with_its_place_and_what_comes_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
