/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/site_groups.h"

#include "tests/unit/one_of_each.h"

#include <string.h>

struct expected {
	const char *name;
	size_t n_sites;
	int64_t live_bytes;
	uint64_t allocs;
};

static void check(enum group_by by, enum option_sort sort, const struct expected *expected,
		  size_t n_expected)
{
	const struct report_opts opts = { .group_by = by, .sort = sort };
	struct site_groups groups;
	struct fixture f;

	one_of_each(&f);
	assert_int_equal(site_groups_make(fixture_view(&f, &opts), &groups), 0);
	for (size_t i = 0; i < groups.list.len && i < n_expected; i++) {
		const struct site_group *g = &groups.list.data[i];

		assert_string_equal(g->name, expected[i].name);
		assert_int_equal(g->n_sites, expected[i].n_sites);
		assert_int_equal(g->sides[0].live_bytes, expected[i].live_bytes);
		assert_int_equal(g->sides[0].allocs, expected[i].allocs);
		assert_true(g->exact);
	}
	assert_int_equal(groups.list.len, n_expected);
	site_groups_done(&groups);
	fixture_done(&f);
}
#define GROUPS(by, sort, ...)                                                                      \
	check((by), (sort), (const struct expected[]){ __VA_ARGS__ },                              \
	      sizeof((const struct expected[]){ __VA_ARGS__ }) / sizeof(struct expected))

static void sites_are_summed_by_what_they_have_in_common(void **state)
{
	(void)state;
	GROUPS(GROUP_BY_FUNCTION, SORT_BYTES, { "parse_json", 1, 8000, 10 },
	       { "parse_xml", 1, 100, 100 }, { "once", 1, 0, 20 });
	GROUPS(GROUP_BY_LINE, SORT_BYTES, { "parse_json (parse.c:10)", 1, 8000, 10 },
	       { "parse_xml (parse.c:30)", 1, 100, 100 }, { "once", 1, 0, 20 });
	GROUPS(GROUP_BY_FILE, SORT_BYTES, { "/src/parse.c", 2, 8100, 110 },
	       { "(not known)", 1, 0, 20 });
	GROUPS(GROUP_BY_OBJECT, SORT_BYTES, { "/opt/demo/server", 3, 8100, 130 });
	GROUPS(GROUP_BY_PROCESS, SORT_BYTES, { "server (pid 42)", 3, 8100, 130 });
	GROUPS(GROUP_BY_CLASS, SORT_BYTES, { "heap", 3, 8100, 130 }, { "mmap", 1, 4096, 1 });
	GROUPS(GROUP_BY_GROWTH, SORT_BYTES, { "(not known)", 3, 8100, 130 });
	GROUPS(GROUP_BY_LEAK, SORT_BYTES, { "(not known)", 3, 8100, 130 });
}

static void sizes_and_ages_are_ranges(void **state)
{
	(void)state;
	GROUPS(GROUP_BY_SIZE, SORT_BYTES, { "2.0 KiB to 4.0 KiB", 1, 8000, 10 },
	       { "64 B to 128 B", 1, 100, 100 }, { "1 B to 2 B", 1, 0, 20 });
	GROUPS(GROUP_BY_AGE, SORT_BYTES, { "1 s to 10 s", 2, 8100, 110 },
	       { "(none live, or not known)", 1, 0, 20 });
}

static void what_a_child_inherits_has_the_size_of_its_blocks(void **state)
{
	static const struct {
		struct view_site site;
		uint64_t expected;
	} cases[] = {
		{ { .allocs = 4, .bytes = 100, .live_blocks = 1, .live_bytes = 99 }, 25 },
		{ { .live_blocks = 3, .live_bytes = 300 }, 100 },
		{ { .live_blocks = 0, .live_bytes = 0 }, VIEW_UNKNOWN },
		{ { .live_blocks = 1, .live_bytes = -5 }, VIEW_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(view_site_mean_size(&cases[i].site), cases[i].expected);
}

static void the_sort_of_the_report_is_theirs(void **state)
{
	(void)state;
	GROUPS(GROUP_BY_CLASS, SORT_COUNT, { "heap", 3, 8100, 130 }, { "mmap", 1, 4096, 1 });
	GROUPS(GROUP_BY_FUNCTION, SORT_TEMPORARY, { "parse_json", 1, 8000, 10 },
	       { "parse_xml", 1, 100, 100 }, { "once", 1, 0, 20 });
}

/* What a heap holds and what is mapped are one number in no table. */
static void groups_of_a_table_say_that_they_are_of_the_heap(void **state)
{
	struct report_opts opts = { .group_by = GROUP_BY_PROCESS };
	_cleanup_free_ char *text = NULL, *mapped = NULL;
	struct fixture f;

	(void)state;
	one_of_each(&f);
	text = fixture_report(&f, "table", &opts);
	assert_non_null(strstr(text, "  of the heap; --where 'class = mmap' shows mappings\n"));
	opts.group_by = GROUP_BY_CLASS;
	mapped = fixture_report(&f, "table", &opts);
	assert_null(strstr(mapped, "  of the heap;"));
	fixture_done(&f);
}

static void a_table_has_groups_instead_of_sites(void **state)
{
	struct report_opts opts = { .group_by = GROUP_BY_CLASS, .top = 1 };
	_cleanup_free_ char *text = NULL;
	struct fixture f;

	(void)state;
	one_of_each(&f);
	text = fixture_report(&f, "table", &opts);
	assert_non_null(strstr(text, "  SITES  class\n"));
	assert_non_null(
		strstr(text, "  7.9 KiB       3   8.8 KiB  48.8 KiB     130      3  heap\n"));
	assert_non_null(strstr(text, "  … 1 more; --top 0 shows all\n"));
	assert_null(strstr(text, "#1"));
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_are_summed_by_what_they_have_in_common),
		cmocka_unit_test(sizes_and_ages_are_ranges),
		cmocka_unit_test(what_a_child_inherits_has_the_size_of_its_blocks),
		cmocka_unit_test(the_sort_of_the_report_is_theirs),
		cmocka_unit_test(groups_of_a_table_say_that_they_are_of_the_heap),
		cmocka_unit_test(a_table_has_groups_instead_of_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
