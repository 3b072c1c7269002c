/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/feature.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int forget(void **state)
{
	(void)state;
	return unsetenv("MEMTRACED_WITHOUT");
}

static void each_feature_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (enum feature i = 0; i < FEATURES; i++) {
		assert_true(strlen(feature_name(i)) > 0 && strlen(feature_name(i)) < 19);
		assert_null(strchr(feature_name(i), ','));
		assert_true(strlen(feature_what(i)) > 0);
		for (enum feature k = 0; k < i; k++)
			assert_string_not_equal(feature_name(i), feature_name(k));
	}
}

static void what_is_named_is_left_out_and_nothing_else(void **state)
{
	static const struct {
		const char *list; /* NULL: the variable is not set */
		uint64_t left_out;
		const char *unknown;
	} cases[] = {
		{ NULL, 0, "" },
		{ "", 0, "" },
		{ ",,", 0, "" },
		{ "cookies", 1 << FEATURE_COOKIES, "" },
		{ "btf,unwind-cfi", 1 << FEATURE_BTF | 1 << FEATURE_UNWIND_CFI, "" },
		{ ",uprobe-multi,,atomics,", 1 << FEATURE_UPROBE_MULTI | 1 << FEATURE_ATOMICS, "" },
		{ "cookie", 0, "cookie" },
		{ "cookiesx", 0, "cookiesx" },
		{ "cookies ", 0, "cookies " },
		{ "uprobe", 0, "uprobe" },
		{ "tracefs,Btf,hold-cpu,x", 1 << FEATURE_TRACEFS | 1 << FEATURE_HOLD_CPU, "Btf" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf unknown = { 0 };
		uint64_t left_out = 0;

		if (cases[i].list)
			assert_int_equal(setenv("MEMTRACED_WITHOUT", cases[i].list, 1), 0);
		for (enum feature id = 0; id < FEATURES; id++)
			left_out |= (uint64_t)feature_left_out(id) << id;
		assert_int_equal(left_out, cases[i].left_out);
		assert_int_equal(feature_check_left_out(&unknown), *cases[i].unknown ? -EINVAL : 0);
		assert_string_equal(strbuf_str(&unknown), cases[i].unknown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_feature_has_a_name_of_its_own),
		cmocka_unit_test_setup_teardown(what_is_named_is_left_out_and_nothing_else, forget,
						forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
