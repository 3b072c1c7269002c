/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of the leak check: their values, and what is said of memcheck's others.
 */
#include "config/options.h"
#include "tests/unit/parse_words.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void defaults_are_memchecks(void **state)
{
	const char *const words[] = { "-p1", "--leak-check=full", NULL };
	_cleanup_(options_free_p) struct options *o = NULL;
	_cleanup_strbuf_ struct strbuf error = { 0 };

	(void)state;
	assert_int_equal(parse(words, &o, &error), 0);
	assert_true(options_check_leaks(o));
	assert_int_equal(o->leak.mode, LEAK_CHECK_FULL);
	assert_int_equal(o->leak.show_kinds, 1 | 4);
	assert_int_equal(o->leak.error_kinds, 1 | 4);
	assert_int_equal(o->leak.heuristics, 15);
	assert_int_equal(o->leak.resolution, LEAK_RESOLUTION_HIGH);
	assert_int_equal(o->leak.num_callers, 12);
	assert_int_equal(o->leak.error_exitcode, 0);
	assert_int_equal(o->leak.max_stop_ns, 10000000000);
	assert_null(o->leak.log.path);
	assert_int_equal(o->leak.log.fd, 0);
	assert_false(o->leak.xml.on);
	assert_int_equal(o->leak.xml.protocol, 4);
	assert_null(o->leak.suppressions);
}

static void values_are_taken(void **state)
{
	const char *const words[] = { "-p1",
				      "--leak-check=yes",
				      "--show-leak-kinds=all",
				      "--errors-for-leak-kinds=none",
				      "--leak-check-heuristics=length64,newarray",
				      "--leak-resolution=med",
				      "--num-callers=40",
				      "--suppressions=a",
				      "--suppressions=b",
				      "--error-exitcode=9",
				      "--max-stop=250",
				      "--log-fd=5",
				      "--log-file=l.%p",
				      "--xml=yes",
				      "--xml-fd=9",
				      "--xml-protocol=5",
				      NULL };
	_cleanup_(options_free_p) struct options *o = NULL;
	_cleanup_strbuf_ struct strbuf error = { 0 };

	(void)state;
	assert_int_equal(parse(words, &o, &error), 0);
	assert_int_equal(o->leak.mode, LEAK_CHECK_YES);
	assert_int_equal(o->leak.show_kinds, 15);
	assert_int_equal(o->leak.error_kinds, 0);
	assert_int_equal(o->leak.heuristics, 2 | 4);
	assert_int_equal(o->leak.resolution, LEAK_RESOLUTION_MED);
	assert_int_equal(o->leak.num_callers, 40);
	assert_string_equal(o->leak.suppressions[0], "a");
	assert_string_equal(o->leak.suppressions[1], "b");
	assert_null(o->leak.suppressions[2]);
	assert_int_equal(o->leak.error_exitcode, 9);
	assert_int_equal(o->leak.max_stop_ns, 250000000);
	assert_string_equal(o->leak.log.path, "l.%p");
	assert_int_equal(o->leak.log.fd, 0);
	assert_true(o->leak.xml.on);
	assert_int_equal(o->leak.xml.to.fd, 9);
	assert_int_equal(o->leak.xml.protocol, 5);
}

static void what_is_wrong_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *words[MAX_ARGS];
		const char *said;
	} cases[] = {
		{ { "-p1", "--num-callers=4" },
		  "'--num-callers' applies to leaks: give --leak-check=full too" },
		{ { "-p1", "--leak-check=full", "--show-leak-kinds=definite,foo" },
		  "invalid --show-leak-kinds 'definite,foo': expected all, none, or some of "
		  "definite,indirect,possible,reachable" },
		{ { "-p1", "--leak-check=full", "--show-leak-kinds=" },
		  "invalid --show-leak-kinds '': expected all, none, or some of "
		  "definite,indirect,possible,reachable" },
		{ { "-p1", "--leak-check=full", "--num-callers=0" },
		  "invalid --num-callers '0': expected 1 to 511" },
		{ { "-p1", "--leak-check=full", "--error-exitcode=256" },
		  "invalid --error-exitcode '256': expected 1 to 255, or 0 for none" },
		{ { "-p1", "--leak-check=full", "--max-stop=0" },
		  "invalid --max-stop '0': expected milliseconds, or a number with ms, s, m "
		  "or h behind it" },
		{ { "-p1", "--leak-check=full", "--min-size=8" },
		  "'--leak-check' needs all blocks: leave out '--min-size' and '--max-size'" },
		{ { "-a", "--leak-check=full" },
		  "'--leak-check' stops the processes that it checks: name them with -p, or give "
		  "a command" },
		{ { "-p1", "--leak-check=full", "--xml=yes" },
		  "'--xml=yes' needs --xml-file=FILE or --xml-fd=N" },
		{ { "-p1", "--leak-check=full", "--xml-file=a" },
		  "'--xml-file' and '--xml-fd' are for XML: give --xml=yes, too" },
		{ { "-p1", "--leak-check=full", "--xml=yes", "--xml-file=a.%e" },
		  "'--xml-file' knows no '%e' in a path: give %p for the process id, %q{NAME} "
		  "for a variable of the environment, or %% for a percent sign" },
		{ { "-p1", "--leak-check=full", "--xml=yes", "--xml-file=a.%q{B" },
		  "'--xml-file' knows no '%q' in a path: give %p for the process id, %q{NAME} "
		  "for a variable of the environment, or %% for a percent sign" },
		{ { "-p1", "--leak-check=full", "--log-fd=0" },
		  "invalid --log-fd '0': expected the number of an open file descriptor" },
		{ { "-p1", "--leak-check=summary", "--xml=yes", "--xml-fd=3" },
		  "'--xml=yes' shows each leak: give --leak-check=full" },
		{ { "-p1", "--undef-value-errors=no" },
		  "'--undef-value-errors' is not there: whether a value was ever set is known to "
		  "memcheck alone, which runs each instruction of the program itself: leave it "
		  "out" },
		{ { "-p1", "--show-reachable=yes" },
		  "'--show-reachable' is not there: give '--show-leak-kinds' with the kinds" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct options *o = NULL;

		assert_int_equal(parse(cases[i].words, &o, &error), -EINVAL);
		assert_string_equal(strbuf_str(&error), cases[i].said);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_memchecks),
		cmocka_unit_test(values_are_taken),
		cmocka_unit_test(what_is_wrong_is_refused_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
