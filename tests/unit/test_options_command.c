/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is a program to run, a subcommand or a process id on the command line. */
#include "config/options.h"
#include "tests/unit/parse_words.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static struct options *parse_ok(const char *const *words)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct options *o = NULL;

	if (parse(words, &o, &error) != 0)
		fail_msg("%s", strbuf_str(&error));
	return o;
}

static void the_first_word_that_is_no_subcommand_begins_the_command(void **state)
{
	static const struct {
		const char *words[MAX_ARGS];
		size_t command; /* the index of its first word */
	} cases[] = {
		{ { "./prog", "-p", "7", "--help" }, 0 },
		{ { "-q", "-d1", "./prog", "report" }, 2 },
		{ { "-d", "1", "ls", "--", "-l" }, 2 },
		{ { "--", "report", "-x" }, 1 },
		{ { "-q", "--", "ctl" }, 2 },
		{ { "-" }, 0 },
		{ { "-c", "sh -c 'ls | wc' \\; \"<>\" $x *", NULL, "sh", "-c", "ls | wc", ";", "<>",
		    "$x", "*" },
		  3 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(options_free_p) struct options *o = parse_ok(cases[i].words);
		const char *const *expected = cases[i].words + cases[i].command;
		size_t n = 0;

		assert_non_null(o->command);
		for (; expected[n] && o->command[n]; n++)
			assert_string_equal(o->command[n], expected[n]);
		assert_true(!expected[n] && !o->command[n]);
		assert_int_equal(o->n_pids, 0);
	}
}

static void a_process_id_has_a_short_and_a_long_name(void **state)
{
	static const char *const words[] = { "--pid", "1", "--pid=2,3", "-p4", NULL };
	static const pid_t expected[] = { 1, 2, 3, 4 };
	_cleanup_(options_free_p) struct options *o = parse_ok(words);

	(void)state;
	assert_int_equal(o->n_pids, N_ELEMENTS(expected));
	assert_memory_equal(o->pids, expected, sizeof(expected));
}

static void what_is_no_command_is_refused_with_what_to_do(void **state)
{
	static const struct {
		const char *words[4], *error;
	} cases[] = {
		{ { "-c", "ls | wc -l" },
		  "'-c' runs no shell, which '|' needs; use -- sh -c 'ls | wc -l', or quote it" },
		{ { "-c", "a&&b" },
		  "'-c' runs no shell, which '&&' needs; use -- sh -c 'a&&b', or quote it" },
		{ { "-c", "echo 'a' >>f" },
		  "'-c' runs no shell, which '>>' needs; use -- sh -c "
		  "'echo '\\''a'\\'' >>f', or quote it" },
		{ { "-c", "ls", "/tmp" },
		  "unexpected argument '/tmp': quote all of the command behind -c, or give it "
		  "behind --" },
		{ { "-p1", "ls" },
		  "'-p' and a command exclude each other: trace either running processes or a "
		  "new one" },
		{ { "-a", "ls" }, "'-a' and a command exclude each other: give one of them" },
		{ { "-p", "1", "0" }, "unexpected argument '0': not a process id" },
		{ { "1234" },
		  "unexpected argument '1234': give a process id behind -p, a program of that "
		  "name behind --" },
		{ { "-v", "ctl", "status" },
		  "'ctl' must be the first word; a program of that name is run by "
		  "'memtraced -- ctl'" },
		{ { "" }, "the command's first word is empty: give a program" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct options *o = NULL;

		assert_int_equal(parse(cases[i].words, &o, &error), -EINVAL);
		assert_string_equal(strbuf_str(&error), cases[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_word_that_is_no_subcommand_begins_the_command),
		cmocka_unit_test(a_process_id_has_a_short_and_a_long_name),
		cmocka_unit_test(what_is_no_command_is_refused_with_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
