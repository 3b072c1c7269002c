/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/sample_library.h"

#include "parse_words.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void the_drop_in_sets_both_variables(void **state)
{
	const struct sample_unit_options options = { .interval = 4096 };
	_cleanup_strbuf_ struct strbuf text = {};

	(void)state;
	assert_int_equal(sample_unit_text(&options, "/usr/lib/100%/x.so", &text), 0);
	assert_non_null(strstr(strbuf_str(&text), "[Service]\n"
						  "Environment=\"LD_PRELOAD=/usr/lib/100%%/x.so\"\n"
						  "Environment=MEMTRACED_SAMPLE_INTERVAL=4096\n"));
}

static void a_service_that_counts_all_calls_does_so_unread(void **state)
{
	const struct sample_unit_options options = { .interval = 4096, .exact = true };
	_cleanup_strbuf_ struct strbuf text = {};

	(void)state;
	assert_int_equal(sample_unit_text(&options, "/x.so", &text), 0);
	assert_non_null(strstr(strbuf_str(&text), "[Service]\n"
						  "Environment=\"LD_PRELOAD=/x.so\"\n"
						  "Environment=MEMTRACED_EXACT=keep\n"));
	assert_null(strstr(strbuf_str(&text), "INTERVAL"));
}

static void a_path_that_would_be_two_or_leave_the_line_is_refused(void **state)
{
	static const char *const paths[] = { "/a b/x.so", "/a:b/x.so", "/a\nb/x.so", "/a\"b/x.so",
					     "/a\\b/x.so" };

	const struct sample_unit_options options = { .interval = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		_cleanup_strbuf_ struct strbuf text = {};

		assert_int_equal(sample_unit_text(&options, paths[i], &text), -EINVAL);
	}
}

static struct options *parsed(const char *const *words)
{
	_cleanup_strbuf_ struct strbuf error = {};
	struct options *options = NULL;

	assert_int_equal(parse(words, &options, &error), 0);
	return options;
}

static void words_behind_sample_say_which_unit(void **state)
{
	static const char *const print[] = { "sample", "--unit=nginx", "--interval",
					     "64k",    "--print",      NULL };
	static const char *const removal[] = { "sample", "--remove", "--unit", "a@b.service",
					       NULL };
	_cleanup_(options_free_p) struct options *o = parsed(print);
	_cleanup_(options_free_p) struct options *removed = parsed(removal);

	(void)state;
	assert_int_equal(o->action, ACTION_SAMPLE_UNIT);
	assert_string_equal(o->sample_unit.unit, "nginx.service");
	assert_int_equal(o->sample_unit.interval, 65536);
	assert_int_equal(o->sample_unit.what, SAMPLE_UNIT_PRINT);
	assert_string_equal(removed->sample_unit.unit, "a@b.service");
	assert_int_equal(removed->sample_unit.interval, OPTIONS_SAMPLE_BYTES);
	assert_int_equal(removed->sample_unit.what, SAMPLE_UNIT_REMOVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_drop_in_sets_both_variables),
		cmocka_unit_test(a_service_that_counts_all_calls_does_so_unread),
		cmocka_unit_test(a_path_that_would_be_two_or_leave_the_line_is_refused),
		cmocka_unit_test(words_behind_sample_say_which_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
