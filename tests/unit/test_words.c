/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "config/words.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_WORDS 6

static void strings_split_as_a_shell_would_split_them(void **state)
{
	static const struct {
		const char *text;
		const char *words[MAX_WORDS]; /* NULL-terminated */
	} cases[] = {
		{ "ls", { "ls" } },
		{ "  ls\t-l\n/tmp  ", { "ls", "-l", "/tmp" } },
		{ "a 'b c' d", { "a", "b c", "d" } },
		{ "a \"b c\" d", { "a", "b c", "d" } },
		{ "a\\ b c", { "a b", "c" } },
		{ "'a'\"b\"c\\d", { "abcd" } },
		{ "x '' \"\" y", { "x", "", "", "y" } },
		{ "''", { "" } },
		{ "'a\\'b", { "a\\b" } },
		{ "'\"' \"'\" \\' \\\"", { "\"", "'", "'", "\"" } },
		{ "\"a\\\"b\\\\c\\$d\\`e\"", { "a\"b\\c$d`e" } },
		{ "\"a\\nb\"", { "a\\nb" } },
		{ "\"a\\\nb\" c\\\nd", { "ab", "cd" } },
		{ "a \\\n b", { "a", "b" } },
		{ "a\\\\", { "a\\" } },
		{ "\\\\ \\#", { "\\", "#" } },
		{ "a|b; c&d >e", { "a|b;", "c&d", ">e" } },
		{ "$HOME `id` $(x) *?", { "$HOME", "`id`", "$(x)", "*?" } },
		{ "a #b ~", { "a", "#b", "~" } },
		{ "\303\244 '\303\266'", { "\303\244", "\303\266" } },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		char **words = NULL;
		size_t n = 0;

		if (words_split(cases[i].text, &words) != 0)
			fail_msg("<%s> is refused", cases[i].text);
		for (; words[n] && cases[i].words[n]; n++)
			assert_string_equal(words[n], cases[i].words[n]);
		if (words[n] || cases[i].words[n])
			fail_msg("<%s> has another number of words", cases[i].text);
		words_free(words);
	}
}

static void operators_are_found_where_nothing_quotes_them(void **state)
{
	static const struct {
		const char *text;
		int at; /* -1: there is none */
	} cases[] = {
		{ "ls | wc", 3 },	{ "a>b", 1 },	{ "a;", 1 },	       { "a && b | c", 2 },
		{ "a 'b' <c", 6 },	{ "a| 'b", 1 }, { "a '|' \"&\"", -1 }, { "a \\; \\>", -1 },
		{ "$a `b` (c) #", -1 }, { "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		const char *found = words_operator(cases[i].text);

		assert_int_equal(found ? found - cases[i].text : -1, cases[i].at);
	}
}

static void unfinished_and_empty_strings_are_refused(void **state)
{
	static const char *const cases[] = {
		"",	"   ",	 "\t\n",    "\\",	 "a \\",   "'",	   "\"",
		"a 'b", "a \"b", "a \"b\\", "a \"b\\\"", "'a\\''", "\\\n", "\"'\"'",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		char **words = NULL;

		if (words_split(cases[i], &words) != -EINVAL)
			fail_msg("<%s> is not refused", cases[i]);
		assert_null(words);
	}
	words_free(NULL);
}

static void many_and_long_words_are_kept_whole(void **state)
{
	enum { LEN = 100000 };
	_cleanup_free_ char *text = malloc(2 * LEN + 1);
	char **words = NULL;
	size_t n = 0;

	(void)state;
	assert_non_null(text);
	memset(text, 'w', LEN);
	for (size_t i = LEN; i < 2 * LEN; i++)
		text[i] = i % 2 ? 'v' : ' ';
	text[2 * LEN] = '\0';
	assert_int_equal(words_split(text, &words), 0);
	assert_int_equal(strlen(words[0]), LEN);
	while (words[n])
		n++;
	assert_int_equal(n, 1 + LEN / 2);
	words_free(words);
}

static void quoted_words_are_read_back(void **state)
{
	static const struct {
		const char *word, *quoted;
	} cases[] = {
		{ "ls", "ls" },
		{ "--size=512KiB,a+b:c@d%p", "--size=512KiB,a+b:c@d%p" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\\''s'" },
		{ "'", "''\\'"
		       "''" },
		{ "$HOME*~#", "'$HOME*~#'" },
		{ "\"\\\n", "'\"\\\n'" },
		{ "\303\251", "'\303\251'" },
	};
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char **words;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf quoted = { 0 };

		words_quote(&quoted, cases[i].word);
		assert_string_equal(strbuf_str(&quoted), cases[i].quoted);
		strbuf_addf(&line, "%s ", strbuf_str(&quoted));
	}
	assert_int_equal(words_split(strbuf_str(&line), &words), 0);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		assert_string_equal(words[i], cases[i].word);
	assert_null(words[N_ELEMENTS(cases)]);
	words_free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_split_as_a_shell_would_split_them),
		cmocka_unit_test(operators_are_found_where_nothing_quotes_them),
		cmocka_unit_test(unfinished_and_empty_strings_are_refused),
		cmocka_unit_test(many_and_long_words_are_kept_whole),
		cmocka_unit_test(quoted_words_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
