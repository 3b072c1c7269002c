/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/where.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What a made-up site says: numbers by field, one text for all of the others. */
struct said {
	uint64_t numbers[WHERE_FUNCTION];
	const char *text;
};

static bool say(const struct where_test *test, void *userdata)
{
	const struct said *said = userdata;

	if (test->field < WHERE_FUNCTION)
		return where_compare(test, said->numbers[test->field]);
	return where_matches(test, said->text) == (test->op == WHERE_EQ);
}

static bool holds(const char *text, const struct said *said)
{
	_cleanup_(where_free_p) struct where *where = NULL;
	_cleanup_strbuf_ struct strbuf error = { 0 };
	int r = where_parse(text, &where, &error);

	if (r < 0)
		fail_msg("%s: %s", text, strbuf_str(&error));
	return where_holds(where, say, (void *)said);
}

static void comparisons_are_of_numbers_with_units(void **state)
{
	static const struct said said = {
		.numbers = { [WHERE_LIVE] = 4096,
			     [WHERE_BLOCKS] = 3,
			     [WHERE_OLDEST] = 90000000000,
			     [WHERE_TEMPORARY] = 50 },
	};
	static const struct {
		const char *text;
		bool expected;
	} cases[] = {
		{ "live = 4096", true },      { "live = 4k", true },
		{ "live == 4KiB", true },     { "live != 4k", false },
		{ "live < 4k", false },	      { "live <= 4k", true },
		{ "live > 4095", true },      { "live >= 4097", false },
		{ "blocks=3", true },	      { "blocks<3", false },
		{ "oldest > 1m", true },      { "oldest = 90", true },
		{ "oldest < 1.5m", false },   { "temporary >= 50", true },
		{ "temporary > 50%", false }, { "peak = 0", true },
		{ "  live\t>\n1 ", true },    { "live > '4095'", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (holds(cases[i].text, &said) != cases[i].expected)
			fail_msg("%s", cases[i].text);
}

static void names_match_as_a_whole_with_stars(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool expected;
	} cases[] = {
		{ "main", "main", true },
		{ "main", "main2", false },
		{ "main", "domain", false },
		{ "*", "", true },
		{ "", "", true },
		{ "", "x", false },
		{ "ma*", "main", true },
		{ "*in", "main", true },
		{ "*a*n", "main", true },
		{ "m?in", "main", true },
		{ "m?in", "min", false },
		{ "a*b*c", "a b b c", true },
		{ "a*b*c", "a b b", false },
		{ "*::step*", "demo::Worker<int>::step7", true },
		{ "**", "x", true },
		{ "a**", "a", true },
		{ "a*?", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct said said = { .text = cases[i].text };
		char equal[64], unequal[64];

		snprintf(equal, sizeof(equal), "function = \"%s\"", cases[i].pattern);
		snprintf(unequal, sizeof(unequal), "function != '%s'", cases[i].pattern);
		if (holds(equal, &said) != cases[i].expected)
			fail_msg("%s: %s", equal, cases[i].text);
		assert_int_equal(holds(unequal, &said), !cases[i].expected);
	}
}

/* A star that is tried at each place for each star before it would take years. */
static void many_stars_take_no_longer(void **state)
{
	char text[4096], pattern[256] = "function = '";
	struct said said = { .text = text };

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 50; i++)
		strcat(pattern, "a*");
	strcat(pattern, "b'");
	assert_false(holds(pattern, &said));
}

static void and_binds_tighter_than_or_and_not_than_both(void **state)
{
	/* live is 1, blocks 0 and peak 0: a name is true where it is 1. */
	static const struct said said = { .numbers = { [WHERE_LIVE] = 1 } };
	static const struct {
		const char *text;
		bool expected;
	} cases[] = {
		{ "live=1 or blocks=1 and peak=1", true },
		{ "(live=1 or blocks=1) and peak=1", false },
		{ "peak=1 and blocks=1 or live=1", true },
		{ "not live=1 or live=1", true },
		{ "not (live=1 or blocks=1)", false },
		{ "not not live=1", true },
		{ "not peak=1 and not blocks=1", true },
		{ "not(peak=1)and(live=1)", true },
		{ "((live=1))", true },
		{ "peak=1 or blocks=1 or live=0", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (holds(cases[i].text, &said) != cases[i].expected)
			fail_msg("%s", cases[i].text);
}

static void errors_name_their_column(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "", "column 1: a field is missing" },
		{ "  ", "column 3: a field is missing" },
		{ "size", "column 5: a comparison (= != < <= > >=) is missing" },
		{ "size 4", "column 6: a comparison (= != < <= > >=) is missing before '4'" },
		{ "size >", "column 7: a value is missing" },
		{ "size > and", "column 8: invalid size 'and': expected a number, or one "
				"with k, M, G or T behind it" },
		{ "size > )", "column 8: a value is missing before ')'" },
		{ "sizee > 1", "column 1: unknown field 'sizee'; did you mean 'size'?" },
		{ "'size' > 1", "column 1: a field is missing before ''size''" },
		{ "size > 1 or", "column 12: a field is missing" },
		{ "size > 1 blocks", "column 10: 'and' or 'or' is missing before 'blocks'" },
		{ "(size > 1", "column 10: ')' is missing" },
		{ "size > 1)", "column 9: 'and' or 'or' is missing before ')'" },
		{ "size ! 1", "column 6: '!' stands only in '!='; write 'not'" },
		{ "size > 99999999999999T", "column 8: '99999999999999T' is too large for 'size'" },
		{ "file = \"x", "column 8: the quote has no end" },
		{ "file >= x", "column 6: 'file' is compared by = and != alone" },
		{ "class = heep", "column 9: invalid class 'heep': expected one of heap, mmap" },
		{ "newest > 1x", "column 10: invalid newest '1x': expected seconds, or a "
				 "number with ms, s, m, h or d behind it" },
		{ "temporary > 101", "column 13: invalid temporary '101': expected a "
				     "percentage from 0 to 100" },
		{ "temporary > -1", "column 13: invalid temporary '-1': expected a "
				    "percentage from 0 to 100" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct where *where = NULL;

		assert_int_equal(where_parse(cases[i].text, &where, &error), -EINVAL);
		assert_null(where);
		assert_string_equal(strbuf_str(&error), cases[i].expected);
	}
}

/* So that neither memory nor the stack is the command line's to decide. */
static void size_and_depth_are_bounded(void **state)
{
	static const struct {
		const char *unit;
		int allowed;
		const char *after, *expected;
	} cases[] = {
		{ "not ", WHERE_DEPTH, "live=0", "nested more than" },
		{ "live=0 and ", WHERE_TESTS - 1, "live=0", "more than 64 comparisons" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int more = 0; more < 2; more++) {
			_cleanup_(where_free_p) struct where *where = NULL;
			_cleanup_strbuf_ struct strbuf text = { 0 }, error = { 0 };

			for (int j = 0; j < cases[i].allowed + more; j++)
				strbuf_adds(&text, cases[i].unit);
			strbuf_adds(&text, cases[i].after);
			assert_int_equal(where_parse(strbuf_str(&text), &where, &error),
					 more ? -EINVAL : 0);
			if (more)
				assert_non_null(strstr(strbuf_str(&error), cases[i].expected));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comparisons_are_of_numbers_with_units),
		cmocka_unit_test(names_match_as_a_whole_with_stars),
		cmocka_unit_test(many_stars_take_no_longer),
		cmocka_unit_test(and_binds_tighter_than_or_and_not_than_both),
		cmocka_unit_test(errors_name_their_column),
		cmocka_unit_test(size_and_depth_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
