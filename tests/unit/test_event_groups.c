/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/site_groups.h"

#include "tests/report_fixture.h"

#include <string.h>

#define KERNEL 0xffffffff81000000ull

struct expected {
	const char *name;
	uint64_t self, total;
};

/* Seven times in get_random, called by vfs_read; three times in vfs_read, called by itself. */
static void two_stacks(struct fixture *f)
{
	const struct script *s = &f->script;

	emit_run_with(s, true);
	emit_kernel(s, KERNEL, KERNEL + 0x1000000);
	emit_begin(s, 0, 10, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, "/opt/demo/server", 11);
	emit_event(s, 1, "getrandom");
	emit_stack(s, 71, 0, 2000, 0x10123, 0x10456);
	emit_stack(s, 81, RECORD_NO_IMAGE.n, 2000, KERNEL + 0x10, KERNEL + 0x200);
	emit_stack(s, 82, RECORD_NO_IMAGE.n, 2000, KERNEL + 0x210, KERNEL + 0x200);
	emit_cut(s, 9000);
	emit_event_count(
		s, (struct record_event_count){ 1, { 0 }, 71, 81, 7, 2000, 8000, 0, 0, 0, 0 });
	emit_event_count(
		s, (struct record_event_count){ 1, { 0 }, 71, 82, 3, 2000, 8000, 0, 0, 0, 0 });
	emit_cut_end(s);
	emit_kernel_symbol(s, KERNEL + 0x10, "get_random", 0x10);
	emit_kernel_symbol(s, KERNEL + 0x200, "vfs_read", 0x10);
	emit_kernel_symbol(s, KERNEL + 0x210, "vfs_read", 0x20);
}

static void check_with(struct fixture *f, const struct report_opts *opts, enum group_by by,
		       const struct expected *expected)
{
	struct event_groups groups;

	assert_int_equal(
		event_groups_make(view_event(fixture_view(f, opts), 0), by, false, &groups), 0);
	for (size_t i = 0; i < groups.list.len; i++, expected++) {
		assert_non_null(expected->name);
		assert_string_equal(groups.list.data[i].name, expected->name);
		assert_int_equal(groups.list.data[i].self, expected->self);
		assert_int_equal(groups.list.data[i].total, expected->total);
	}
	assert_null(expected->name);
	event_groups_done(&groups);
}
#define GROUPS_WITH(f, opts, by, ...)                                                              \
	check_with((f), (opts), (by), (const struct expected[]){ __VA_ARGS__, { 0 } })
#define GROUPS(f, by, ...) GROUPS_WITH(f, NULL, by, __VA_ARGS__)

static void stacks_are_summed_by_their_frames(void **state)
{
	struct fixture *f = *state;

	two_stacks(f);
	GROUPS(f, GROUP_BY_FUNCTION, { "get_random", 7, 7 }, { "vfs_read", 3, 10 },
	       { "[server]", 0, 10 });
	GROUPS(f, GROUP_BY_OBJECT, { "[kernel.kallsyms]", 10, 10 }, { "/opt/demo/server", 0, 10 });
	GROUPS(f, GROUP_BY_FILE, { "(not known)", 10, 10 });
	GROUPS(f, GROUP_BY_PROCESS, { "server (pid 10)", 10, 10 });
}

static void lines_of_a_function_are_told_apart(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;

	two_stacks(f);
	emit_symbol(s, "/opt/demo/server", 11, 0x1123,
		    { "int serve<int>(int)", 1, "/src/serve.c", 40, false });
	emit_symbol(s, "/opt/demo/server", 11, 0x1456,
		    { "int serve<int>(int)", 9, "/src/serve.c", 12, false });
	GROUPS(f, GROUP_BY_LINE, { "get_random", 7, 7 }, { "vfs_read", 3, 10 },
	       { "serve<int>(int) (serve.c:12)", 0, 10 },
	       { "serve<int>(int) (serve.c:40)", 0, 10 });
}

/* What is in the kernel stays there, unless it is asked for otherwise. */
static void functions_of_wrapper_count_for_their_callers(void **state)
{
	struct fixture *f = *state;
	char *get[] = { "get_*", NULL }, *kernel[] = { "get_*", "vfs_read", NULL };
	char *all[] = { "*", NULL };
	struct report_opts opts = { .wrappers = get };
	_cleanup_free_ char *table = NULL;

	two_stacks(f);
	emit_symbol(&f->script, "/opt/demo/server", 11, 0x1123, { "read", 1, NULL, 0, false });
	emit_symbol(&f->script, "/opt/demo/server", 11, 0x1456, { "main", 1, NULL, 0, false });
	GROUPS_WITH(f, &opts, GROUP_BY_FUNCTION, { "vfs_read", 10, 10 }, { "main", 0, 10 },
		    { "read", 0, 10 });
	table = fixture_report(f, "table", &opts);
	assert_non_null(strstr(table, "\n      get_random  ([kernel.kallsyms])\n"
				      "    > vfs_read  ([kernel.kallsyms])\n"));
	assert_non_null(strstr(table, "\n      vfs_read  ([kernel.kallsyms])\n"
				      "      vfs_read  ([kernel.kallsyms])\n"));
	opts.wrappers = kernel;
	GROUPS_WITH(f, &opts, GROUP_BY_FUNCTION, { "read", 10, 10 }, { "main", 0, 10 });
	opts.wrappers = all;
	GROUPS_WITH(f, &opts, GROUP_BY_FUNCTION, { "get_random", 7, 7 }, { "vfs_read", 3, 10 },
		    { "main", 0, 10 }, { "read", 0, 10 });
}

static void the_table_has_them_in_place_of_stacks(void **state)
{
	struct fixture *f = *state;
	struct report_opts opts = { .group_by = GROUP_BY_FUNCTION, .top = 2 };
	_cleanup_free_ char *grouped = NULL, *narrow = NULL, *by_size = NULL;

	two_stacks(f);
	grouped = fixture_report(f, "table", &opts);
	assert_non_null(strstr(grouped, "getrandom: ≥10 times on 2 stacks\n"
					"   SELF               TOTAL              function\n"
					" ~70.0%          ~7  ~70.0%          ~7  get_random\n"
					" ~30.0%          ~3 ~100.0%         ~10  vfs_read\n"
					"  … 1 more; --top 0 shows all\n"));
	assert_null(strstr(grouped, "#1"));
	opts.width = 40;
	narrow = fixture_report(f, "table", &opts);
	assert_non_null(strstr(narrow, "   SELF   TOTAL  function\n ~70.0%  ~70.0%  get_random\n"));
	opts.width = 0;
	/* Stacks have no size. */
	opts.group_by = GROUP_BY_SIZE;
	by_size = fixture_report(f, "table", &opts);
	assert_non_null(strstr(by_size, "  #1  ≥7, ~70.0%, server (pid 10)\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stacks_are_summed_by_their_frames),
		TEST(lines_of_a_function_are_told_apart),
		TEST(functions_of_wrapper_count_for_their_callers),
		TEST(the_table_has_them_in_place_of_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
