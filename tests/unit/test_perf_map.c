/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* What the text says of an address: the last line that holds it. */
static const struct perf_map_entry *find(const struct perf_map *map, uint64_t addr)
{
	for (size_t i = perf_map_count(map); i-- > 0;) {
		const struct perf_map_entry *entry = perf_map_at(map, i);

		if (addr >= entry->start && addr - entry->start < entry->size_bytes)
			return entry;
	}
	return NULL;
}

static struct perf_map *parse(const char *text)
{
	struct perf_map *map = NULL;

	assert_int_equal(perf_map_new(text, strlen(text), &map), 0);
	return map;
}

static void lines_of_every_accepted_form_are_found(void **state)
{
	static const struct {
		const char *text;
		uint64_t addr;
		const char *name; /* NULL: nothing there */
	} cases[] = {
		{ "1000 10 f\n", 0x1000, "f" },
		{ "1000 10 f\n", 0x100f, "f" },
		{ "1000 10 f\n", 0x1010, NULL },
		{ "1000 10 f\n", 0xfff, NULL },
		{ "1000 10 f", 0x1000, "f" },
		{ "1000 10 f\r\n", 0x1000, "f" },
		{ "0x1000 0X10 f\n", 0x1008, "f" },
		{ "7F00abCDef00 ff f\n", 0x7f00abcdefff, NULL },
		{ "7F00abCDef00 ff f\n", 0x7f00abcdeffe, "f" },
		{ "1000 10 LazyCompile:~go /srv/a b.js:3\n", 0x1000,
		  "LazyCompile:~go /srv/a b.js:3" },
		{ "2000 10 g\n1000 10 f\n", 0x1000, "f" },
		{ "ffffffffffffff00 ff f\n", 0xfffffffffffffffe, "f" },
		{ "\n\n1000 10 f\n\n", 0x1000, "f" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(perf_map_free_p) struct perf_map *map = parse(cases[i].text);
		const struct perf_map_entry *entry = find(map, cases[i].addr);

		assert_int_equal(perf_map_malformed(map), 0);
		if (!entry != !cases[i].name)
			fail_msg("case %zu", i);
		if (entry)
			assert_string_equal(entry->name, cases[i].name);
	}
}

static void malformed_lines_are_skipped_and_counted(void **state)
{
	static const char *const lines[] = {
		"x",
		"1000",
		"1000 10",
		"1000 10 ",
		" 1000 10 f",
		"-1000 10 f",
		"+1000 10 f",
		"1000 0 f",
		"1000 10f",
		"0x 10 f",
		"10000000000000000 10 f",
		"fffffffffffffff0 11 f",
		"1000;10;f",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		_cleanup_(perf_map_free_p) struct perf_map *map = NULL;
		char text[128];

		snprintf(text, sizeof(text), "3000 8 before\n%s\n4000 8 after\n", lines[i]);
		map = parse(text);
		if (perf_map_malformed(map) != 1)
			fail_msg("<%s> is accepted", lines[i]);
		assert_non_null(find(map, 0x3000));
		assert_non_null(find(map, 0x4000));
		assert_null(find(map, 0x1000));
	}
}

static void a_line_with_a_nul_byte_is_malformed(void **state)
{
	static const char text[] = "1000 10 f\0g\n2000 10 h\n";
	_cleanup_(perf_map_free_p) struct perf_map *map = NULL;

	(void)state;
	assert_int_equal(perf_map_new(text, sizeof(text) - 1, &map), 0);
	assert_int_equal(perf_map_malformed(map), 1);
	assert_null(find(map, 0x1000));
	assert_non_null(find(map, 0x2000));
}

static void where_code_was_replaced_the_later_line_counts(void **state)
{
	_cleanup_(perf_map_free_p) struct perf_map *map = parse("1000 100 old\n"
								"1040 20 small\n"
								"1050 200 new\n");

	(void)state;
	assert_string_equal(find(map, 0x1000)->name, "old");
	assert_string_equal(find(map, 0x1040)->name, "small");
	assert_string_equal(find(map, 0x1050)->name, "new");
	assert_string_equal(find(map, 0x10ff)->name, "new");
	assert_string_equal(find(map, 0x124f)->name, "new");
	assert_int_equal(find(map, 0x124f)->start, 0x1050);
	assert_int_equal(find(map, 0x124f)->size_bytes, 0x200);
}

static void an_empty_text_is_an_empty_map(void **state)
{
	_cleanup_(perf_map_free_p) struct perf_map *map = NULL;

	(void)state;
	assert_int_equal(perf_map_new(NULL, 0, &map), 0);
	assert_null(find(map, 0));
	assert_int_equal(perf_map_malformed(map), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_every_accepted_form_are_found),
		cmocka_unit_test(malformed_lines_are_skipped_and_counted),
		cmocka_unit_test(a_line_with_a_nul_byte_is_malformed),
		cmocka_unit_test(where_code_was_replaced_the_later_line_counts),
		cmocka_unit_test(an_empty_text_is_an_empty_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
