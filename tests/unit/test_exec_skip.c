/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns of programs that are not traced. */
#include "target/exec_skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void a_pattern_is_of_the_whole_text(void **state)
{
	static const struct {
		const char *patterns, *text;
		bool has;
	} rows[] = {
		{ "/bin/sh", "/bin/sh", true },
		{ "/bin/sh", "/bin/sh2", false },
		{ "sh", "/bin/sh", false },
		{ "*/sh", "/usr/bin/sh", true },
		{ "a,*/s?,b", "/bin/sh", true },
		{ "a,b", "a,b", false },
		{ ",", "", false },
		{ "*", "", true },
		{ NULL, "a", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(exec_skip_has(rows[i].patterns, rows[i].text), rows[i].has);
}

/* Of this program, as main() executes it. */
static void names_and_words_are_those_of_the_exec(void **state)
{
	const struct exec_skip by_name = { .names = "x,/proc/*/exe" },
			       by_word = { .words = "x,m?re" },
			       neither = { .names = "more", .words = "first" };

	(void)state;
	assert_true(exec_skip_matches(&by_name, getpid()));
	assert_true(exec_skip_matches(&by_word, getpid()));
	assert_false(exec_skip_matches(&neither, getpid()));
	assert_false(exec_skip_matches(&(struct exec_skip){ 0 }, getpid()));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_is_of_the_whole_text),
		cmocka_unit_test(names_and_words_are_those_of_the_exec),
	};

	(void)argv;
	if (argc < 2) {
		execl("/proc/self/exe", "first", "more", (char *)NULL);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
