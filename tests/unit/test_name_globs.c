/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/name_globs.h"

#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void a_pattern_matches_whole_names(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} cases[] = {
		{ "cc1", "cc1", true },
		{ "cc1", "cc1plus", false },
		{ "cc1", "xcc1", false },
		{ "cc1*", "cc1plus", true },
		{ "cc1*", "cc1", true },
		{ "*", "", true },
		{ "*", "x", true },
		{ "?", "", false },
		{ "**b", "ab", true },
		{ "*ab*ab", "abxab", true },
		{ "*ab*ab", "ab", false },
		{ "*ab", "aab", true },
		{ "a?c", "abc", true },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]x", "dx", true },
		{ "[^a-c]x", "ax", false },
		{ "[]]", "]", true },
		{ "[!]]", "]", false },
		{ "[a-]", "-", true },
		{ "[-a]", "-", true },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "kworker/*", "kworker/0:1", true },
		{ "\303\244*", "\303\244b", true },
		{ "123456789012345", "123456789012345", true },
		{ "12345678901234?", "123456789012345", true },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct abi_names names = { 0 };

		assert_int_equal(name_globs_add(&names, cases[i].pattern, &error), 0);
		if (name_globs_match(&names, cases[i].name) != cases[i].matches)
			fail_msg("'%s' and '%s': %d", cases[i].pattern, cases[i].name,
				 !cases[i].matches);
		assert_false(name_globs_match(&(struct abi_names){ 0 }, cases[i].name));
	}
}

/* The C library's own reading of the same patterns is the judge. */
static void the_same_as_fnmatch(void **state)
{
	static const char letters[] = "ab*?";
	unsigned int seed = 20261122;

	(void)state;
	for (unsigned int round = 0; round < 200000; round++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct abi_names names = { 0 };
		char pattern[12] = "", name[12] = "";
		size_t pattern_len = 1 + (size_t)rand_r(&seed) % 8,
		       name_len = (size_t)rand_r(&seed) % 10;

		for (size_t i = 0; i < pattern_len; i++)
			pattern[i] = letters[rand_r(&seed) % 4];
		for (size_t i = 0; i < name_len; i++)
			name[i] = letters[rand_r(&seed) % 2];
		assert_int_equal(name_globs_add(&names, pattern, &error), 0);
		if (name_globs_match(&names, name) != (fnmatch(pattern, name, 0) == 0))
			fail_msg("'%s' and '%s'", pattern, name);
	}
}

static void several_patterns_are_told_apart(void **state)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct abi_names names = { 0 }, before;

	(void)state;
	assert_int_equal(name_globs_add(&names, "ab", &error), 0);
	assert_int_equal(name_globs_add(&names, "*cd*", &error), 0);
	assert_int_equal(name_globs_add(&names, "e", &error), 0);
	assert_true(name_globs_match(&names, "ab"));
	assert_true(name_globs_match(&names, "e"));
	assert_true(name_globs_match(&names, "xcdx"));
	assert_true(name_globs_match(&names, "abcd"));
	assert_false(name_globs_match(&names, "abe"));
	assert_false(name_globs_match(&names, "ae"));
	assert_false(name_globs_match(&names, "abc"));
	assert_false(name_globs_match(&names, ""));
	for (int i = 0; i < 3; i++)
		assert_int_equal(name_globs_add(&names, "123456789012345", &error), 0);
	assert_true(name_globs_match(&names, "123456789012345"));
	before = names;
	assert_int_equal(name_globs_add(&names, "123456789012345", &error), -ENOSPC);
	assert_memory_equal(&names, &before, sizeof(names));
	/* what is there may end with the last element */
	names = (struct abi_names){ 0 };
	for (int i = 0; i < 4; i++)
		assert_int_equal(name_globs_add(&names, "123456789012345", &error), 0);
	before = names;
	assert_int_equal(name_globs_add(&names, "1", &error), -ENOSPC);
	assert_memory_equal(&names, &before, sizeof(names));
}

static void what_no_name_can_match_is_refused(void **state)
{
	static const char *const patterns[] = {
		"",
		"[",
		"[a",
		"[]",
		"[!]",
		"[a-",
		"a\\",
		"1234567890123456",
		"*1234567890123456",
		"123456789012345?",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(patterns); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct abi_names names = { 0 };

		if (name_globs_add(&names, patterns[i], &error) != -EINVAL)
			fail_msg("'%s' is taken", patterns[i]);
		assert_non_null(strstr(strbuf_str(&error), "--comm"));
		assert_null(strchr(strbuf_str(&error), '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_matches_whole_names),
		cmocka_unit_test(the_same_as_fnmatch),
		cmocka_unit_test(several_patterns_are_told_apart),
		cmocka_unit_test(what_no_name_can_match_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
