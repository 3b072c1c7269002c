/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of `memtraced diff`.
 */
#include "config/options.h"
#include "tests/unit/parse_words.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void two_files_and_the_options_of_a_diff_are_taken(void **state)
{
	const char *const words[] = { "-q",
				      "diff",
				      "a.rec",
				      "--top=5",
				      "b.rec",
				      "-fjson",
				      "-o",
				      "flamegraph:x.svg",
				      "--widths=before",
				      "--where=live>1k",
				      NULL };
	_cleanup_(options_free_p) struct options *o = NULL;
	_cleanup_strbuf_ struct strbuf error = { 0 };

	(void)state;
	assert_int_equal(parse(words, &o, &error), 0);
	assert_int_equal(o->action, ACTION_DIFF);
	assert_string_equal(o->diff_files[0], "a.rec");
	assert_string_equal(o->diff_files[1], "b.rec");
	assert_int_equal(o->top, 5);
	assert_int_equal(o->n_outputs, 2);
	assert_int_equal(o->widths, WIDTHS_BEFORE);
	assert_non_null(o->where);
}

static void what_has_no_meaning_is_refused(void **state)
{
	static const struct {
		const char *words[6], *error;
	} cases[] = {
		{ { "diff" }, "'diff' needs two files: memtraced diff BEFORE AFTER" },
		{ { "diff", "a" }, "'diff' needs two files: memtraced diff BEFORE AFTER" },
		{ { "diff", "a", "b", "c" }, "unexpected argument 'c': 'diff' compares two files" },
		{ { "diff", "a", "b", "-p1" }, "'--pid' has no meaning for 'diff': leave it out" },
		{ { "diff", "a", "b", "--older-than=3" },
		  "'--older-than' has no meaning for 'diff': leave it out" },
		{ { "diff", "a", "b", "--sort=growth" },
		  "'--sort=growth' has no meaning for 'diff', which shows nothing else: give "
		  "bytes, count, peak or temporary" },
		{ { "diff", "a", "b", "-o", "json:x.%p" },
		  "invalid path 'x.%p': expected no '%' but '%e', as 'diff' writes about "
		  "two runs" },
		{ { "diff", "a", "b", "-o", "folded:%e.%%" },
		  "invalid path '%e.%%': expected no '%' but '%e', as 'diff' writes about "
		  "two runs" },
		{ { "diff", "a", "b", "--", "ls" }, "'diff' starts no command: leave out '--'" },
		{ { "report", "a", "--widths=after" },
		  "'--widths' applies to two runs: see 'memtraced diff'" },
		{ { "-p1", "--widths=after" },
		  "'--widths' applies to two runs: see 'memtraced diff'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(options_free_p) struct options *o = NULL;
		_cleanup_strbuf_ struct strbuf error = { 0 };

		assert_int_equal(parse(cases[i].words, &o, &error), -EINVAL);
		assert_string_equal(strbuf_str(&error), cases[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_files_and_the_options_of_a_diff_are_taken),
		cmocka_unit_test(what_has_no_meaning_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
