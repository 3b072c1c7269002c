/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which sites --where leaves, of a run with one of each kind. */
#include "config/where.h"
#include "tests/unit/one_of_each.h"

#include <string.h>

/* The live bytes of what is left, in the order of the report. */
static void check(struct fixture *f, const char *text, const int64_t *left, size_t n_left)
{
	_cleanup_(where_free_p) struct where *where = NULL;
	_cleanup_strbuf_ struct strbuf error = { 0 };
	const struct report_opts opts = { 0 };
	struct report_opts filtered = opts;
	const struct view_process *p;
	int64_t left_out = 8000 + 100 + 4096;

	assert_int_equal(where_parse(text, &where, &error), 0);
	filtered.where = where;
	(void)fixture_view(f, &filtered);
	assert_int_equal(view_n_processes(f->view), n_left > 0);
	assert_int_equal(view_n_processes_left_out(f->view), n_left == 0);
	assert_string_equal(view_filters(f->view), "--where");
	if (n_left == 0)
		return;
	p = view_process(f->view, 0);
	if (p->n_sites != n_left)
		fail_msg("%s: %zu sites are left", text, p->n_sites);
	for (size_t i = 0; i < n_left; i++) {
		if (p->sites[i].live_bytes != left[i])
			fail_msg("%s: there is one of %d bytes", text, (int)p->sites[i].live_bytes);
		left_out -= left[i];
	}
	assert_int_equal(p->n_left_out, 4 - n_left);
	assert_int_equal(p->left_out_bytes, left_out);
	assert_int_equal(p->totals.live_bytes, 8100);
}
#define LEFT(f, text, ...)                                                                         \
	check((f), (text), (const int64_t[]){ -1, __VA_ARGS__ } + 1,                               \
	      sizeof((const int64_t[]){ -1, __VA_ARGS__ }) / sizeof(int64_t) - 1)

static void each_field_says_what_it_should(void **state)
{
	struct fixture f;

	(void)state;
	one_of_each(&f);
	LEFT(&f, "live > 0", 8000, 4096, 100);
	LEFT(&f, "blocks = 2", 8000);
	LEFT(&f, "peak >= 9000", 8000);
	LEFT(&f, "allocated <= 10000", 4096, 100, 0);
	LEFT(&f, "allocs = 100", 100);
	LEFT(&f, "size = 4000", 8000);
	LEFT(&f, "temporary = 50", 8000);
	LEFT(&f, "oldest >= 8s", 8000, 4096);
	LEFT(&f, "newest = 2", 100);
	LEFT(&f, "pid = 42", 8000, 4096, 100, 0);
	LEFT(&f, "pid = 43");
	LEFT(&f, "process = serv*", 8000, 4096, 100, 0);
	LEFT(&f, "function = parse_*", 8000, 100);
	LEFT(&f, "function = load", 8000);
	LEFT(&f, "function != main", 0);
	LEFT(&f, "function = malloc", 8000, 100, 0);
	LEFT(&f, "file = parse.c", 8000, 100);
	LEFT(&f, "file = /src/load.c", 8000);
	LEFT(&f, "object = server", 8000, 4096, 100, 0);
	LEFT(&f, "object = libc.so.6 and live < 5k", 4096, 100, 0);
	LEFT(&f, "class = mmap", 4096);
	LEFT(&f, "class != mmap", 8000, 100, 0);
	fixture_done(&f);
}

/* A dead site has no ages, a region is never temporary, and no leak check was made. */
static void what_is_not_known_fulfils_no_comparison(void **state)
{
	struct fixture f;

	(void)state;
	one_of_each(&f);
	LEFT(&f, "oldest >= 0", 8000, 4096, 100);
	LEFT(&f, "not oldest >= 0", 0);
	LEFT(&f, "temporary >= 0", 8000, 100, 0);
	LEFT(&f, "leak = definite");
	LEFT(&f, "lifetime >= 0");
	LEFT(&f, "growth = leak");
	fixture_done(&f);
}

static void reports_say_what_was_left_out(void **state)
{
	_cleanup_(where_free_p) struct where *where = NULL;
	_cleanup_strbuf_ struct strbuf error = { 0 };
	_cleanup_free_ char *table = NULL, *folded = NULL;
	struct report_opts opts = { 0 };
	struct fixture f;

	(void)state;
	one_of_each(&f);
	assert_int_equal(where_parse("function = load", &where, &error), 0);
	opts.where = where;
	table = fixture_report(&f, "table", &opts);
	assert_non_null(strstr(table, "… 3 sites left out by --where, 4.1 KiB live"));
	folded = fixture_report(&f, "folded", &opts);
	assert_string_equal(folded, "server-42;main;load;parse_json;malloc 8000\n");
	fixture_done(&f);
}

static void processes_without_a_site_that_matches_are_left_out(void **state)
{
	_cleanup_(where_free_p) struct where *where = NULL;
	_cleanup_strbuf_ struct strbuf error = { 0 };
	_cleanup_free_ char *table = NULL, *json = NULL;
	struct report_opts opts = { 0 };
	struct fixture f;

	(void)state;
	one_of_each(&f);
	assert_int_equal(where_parse("pid = 43", &where, &error), 0);
	opts.where = where;
	table = fixture_report(&f, "table", &opts);
	assert_non_null(strstr(table, "… 1 process left out: no site matches --where; '"));
	assert_null(strstr(table, "(pid 42)"));
	json = fixture_report(&f, "json", &opts);
	assert_non_null(strstr(json, "\"processes\":[],\"ended\":[],\"processes_left_out\":1,"));
	fixture_done(&f);
}

/* Four runs of a program, of which the sums of three are left; of these only the name is known. */
static void ended_programs(struct fixture *f)
{
	const struct script *s = &f->script;

	fixture_init(f);
	model_keep_ended(f->model, 1);
	emit_run(s);
	for (uint32_t slot = 0; slot < 4; slot++) {
		emit_begin(s, slot, 100 + slot, RECORD_NO_IMAGE.n, 0, slot, "p");
		emit_end(s, slot, RECORD_END_EXIT, 0, slot);
	}
	emit_cut(s, 100);
	for (uint32_t slot = 0; slot < 4; slot++)
		emit_totals(s, (struct record_totals){ .image = { slot }, .allocs = 2 });
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
}

static void sums_of_ended_processes_are_left_out_but_by_name(void **state)
{
	static const struct {
		const char *where, *left_out; /* NULL: not the sums */
	} cases[] = {
		{ "process = p", "\"processes_left_out\":1," },
		{ "not process = other", "\"processes_left_out\":1," },
		{ "process != p", NULL },
		{ "live >= 0 or blocks < 9 or class = heap or function != f", NULL },
		{ "pid > 1", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(where_free_p) struct where *where = NULL;
		_cleanup_strbuf_ struct strbuf error = { 0 };
		_cleanup_free_ char *json = NULL;
		struct report_opts opts = { 0 };
		struct fixture f;

		ended_programs(&f);
		assert_int_equal(where_parse(cases[i].where, &where, &error), 0);
		opts.where = where;
		json = fixture_report(&f, "json", &opts);
		if (cases[i].left_out)
			assert_non_null(strstr(json, cases[i].left_out));
		else
			assert_non_null(strstr(json, "\"ended\":[],\"processes_left_out\":4,"));
		fixture_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_says_what_it_should),
		cmocka_unit_test(what_is_not_known_fulfils_no_comparison),
		cmocka_unit_test(reports_say_what_was_left_out),
		cmocka_unit_test(processes_without_a_site_that_matches_are_left_out),
		cmocka_unit_test(sums_of_ended_processes_are_left_out_but_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
