/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/site_rows.h"

#include "report/text/text.h"
#include "tests/replay/resident_memory.h"
#include "tests/replay/samples.h"
#include "tests/report_fixture.h"

#include <string.h>

#define APP "/opt/demo/server"
#define FUNCTIONS 20
#define CUT_NS (80 * 1000000000ull)

/*
 * Each process has two sites of function 1, line 1, which differ in their callers, and one of each
 * other function: function i holds i blocks of 1,000 bytes by each site.
 */
static void emit_process(const struct script *s, uint32_t slot)
{
	emit_totals(s, (struct record_totals){ .image = { slot },
					       .allocs = 500,
					       .live_bytes = 211000,
					       .live_blocks = 211,
					       .peak_bytes = 300000 });
	for (uint64_t i = 0; i <= FUNCTIONS; i++) {
		int64_t n = i ? (int64_t)i : 1;

		emit_site(s, (struct record_site){ .image = { slot },
						   .fn = 1,
						   .stack = 100 * slot + i,
						   .live_bytes = 1000 * n,
						   .live_blocks = n,
						   .peak_bytes = 1000 * n,
						   .allocs = (uint64_t)n });
	}
	emit_resident_process(s, slot, 1 << 20, CUT_NS);
}

static void emit_stacks(const struct script *s, uint32_t slot)
{
	emit_begin(s, slot, 4000 + slot, RECORD_NO_IMAGE.n, slot ? 0 : SCRIPT_ROOT, 1000, "server");
	emit_map(s, slot, 0x400000, 0x500000, 0, 1000, APP, 11);
	emit_stack(s, 100 * slot, slot, 1000, 0x400010, 0x400004);
	for (uint64_t i = 1; i <= FUNCTIONS; i++)
		emit_stack(s, 100 * slot + i, slot, 1000, 0x400000 + 16 * i, 0x400008);
}

static void emit_processes(struct fixture *f, uint32_t n)
{
	const struct script *s = &f->script;

	emit_run(s);
	emit_function(s, 1, "malloc", "/lib/libc.so", 0x100);
	for (uint32_t slot = 0; slot < n; slot++)
		emit_stacks(s, slot);
	emit_symbol(s, APP, 11, 4, { "main", 0, "/src/main.c", 5, false });
	emit_symbol(s, APP, 11, 8, { "main", 0, "/src/main.c", 7, false });
	for (uint64_t i = 1; i <= FUNCTIONS; i++) {
		char name[80];

		snprintf(name, sizeof(name), "demo::Table<demo::Key>::function_%02u(char const*)",
			 (unsigned)i);
		emit_symbol(s, APP, 11, 16 * i,
			    { name, 0, "/src/table.cc", 100 + (unsigned)i, false });
	}
	if (n > 0)
		emit_samples(s, 0, 20, 1);
	emit_cut(s, CUT_NS);
	for (uint32_t slot = 0; slot < n; slot++)
		emit_process(s, slot);
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
}

static void sites_of_a_function_and_line_are_one_row(void **state)
{
	struct fixture *f = *state;
	const struct site_row *last;
	struct site_rows rows;

	emit_processes(f, 1);
	assert_int_equal(site_rows_sum(fixture_view(f, NULL), &rows), 0);
	assert_int_equal(rows.n_rows, FUNCTIONS);
	assert_int_equal(rows.rows[0].values[SITE_LIVE], 20000);
	assert_int_equal(rows.rows[0].values[SITE_SHARE], 95); /* of 211000 */
	assert_string_equal(rows.rows[0].where, "table.cc:120");
	last = &rows.rows[FUNCTIONS - 2];
	assert_int_equal(last->values[SITE_LIVE], 2000);
	assert_int_equal(last->values[SITE_BLOCKS], 2);
	assert_int_equal(last->n_stacks, 2);
	assert_int_equal(last->allocs, 2);
	assert_string_equal(last->name, "demo::Table<demo::Key>::function_01(char const*)");
	site_rows_done(&rows);
}

static void sites_of_several_processes_are_one_row(void **state)
{
	struct fixture *f = *state;
	struct site_rows rows;

	emit_processes(f, 3);
	assert_int_equal(site_rows_sum(fixture_view(f, NULL), &rows), 0);
	assert_int_equal(rows.n_rows, FUNCTIONS);
	assert_int_equal(rows.rows[0].values[SITE_LIVE], 60000);
	assert_int_equal(rows.rows[0].n_pids, 3);
	site_rows_done(&rows);
}

/* What lived at the end of a stretch that is past may be gone: rows are of the latest one. */
static void of_a_process_whose_depth_changed_rows_are_of_the_latest_stretch(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	struct site_rows rows;

	emit_processes(f, 1);
	emit_end(s, 0, RECORD_END_DEPTH, 0, CUT_NS);
	emit_begin(s, 1, 4000, 0, SCRIPT_ROOT, CUT_NS, "server");
	emit_map(s, 1, 0x400000, 0x500000, 0, CUT_NS, APP, 11);
	emit_end(s, 1, RECORD_END_DEPTH, 0, CUT_NS + 1);
	emit_begin(s, 2, 4000, 1, SCRIPT_ROOT, CUT_NS + 1, "server");
	emit_cut(s, CUT_NS + 2);
	emit_totals(s, (struct record_totals){
			       .image = { 1 }, .allocs = 9, .live_bytes = 50, .live_blocks = 5 });
	emit_site(s, (struct record_site){ .image = { 1 },
					   .fn = 1,
					   .stack = 2,
					   .live_bytes = 50,
					   .live_blocks = 5,
					   .allocs = 9 });
	emit_cut_end(s);
	assert_int_equal(view_n_processes(fixture_view(f, NULL)), 3);
	assert_int_equal(view_n_programs(f->view), 1);
	assert_false(view_process(f->view, 1)->is_past);
	assert_true(view_process(f->view, 2)->is_past);

	assert_int_equal(site_rows_sum(f->view, &rows), 0);
	assert_int_equal(rows.n_rows, 1);
	assert_int_equal(rows.rows[0].values[SITE_LIVE], 50);
	site_rows_done(&rows);
	assert_int_equal(site_rows_make(f->view, "", NULL, &rows), 0);
	assert_int_equal(rows.n_rows, 1);
	assert_int_equal(rows.rows[0].values[SITE_ALLOCS], 9);
	site_rows_done(&rows);
}

/* Of a program that has freed all but one of them: what it held is what one wants to know. */
static void what_is_freed_at_the_end_is_shown_by_its_peak(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	_cleanup_free_ char *by_live = NULL, *by_peak = NULL;
	struct site_rows rows;

	emit_run(s);
	emit_function(s, 1, "malloc", "/lib/libc.so", 0x100);
	emit_stacks(s, 0);
	emit_cut(s, CUT_NS);
	emit_totals(s,
		    (struct record_totals){
			    .allocs = 2, .live_bytes = 8, .live_blocks = 1, .peak_bytes = 9008 });
	emit_site(s, (struct record_site){ .fn = 1, .stack = 1, .allocs = 1, .peak_bytes = 9000 });
	emit_site(s, (struct record_site){ .fn = 1,
					   .stack = 2,
					   .allocs = 1,
					   .live_bytes = 8,
					   .live_blocks = 1,
					   .peak_bytes = 8 });
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
	by_live = fixture_report(f, "table", &(struct report_opts){ 0 });
	assert_non_null(strstr(by_live, "  … 1 more site with nothing live; --sort=peak shows what "
					"they held at the peak\n"));
	by_peak = fixture_report(f, "table", &(struct report_opts){ .sort = SORT_PEAK });
	assert_null(strstr(by_peak, "--sort=peak"));
	/* Nothing is known of the function: the file's name is enough. */
	assert_int_equal(site_rows_sum(fixture_view(f, NULL), &rows), 0);
	assert_string_equal(rows.rows[0].name, "server+0x20");
	site_rows_done(&rows);
}

static const char *line_of(const struct site_rows *rows, size_t columns, enum site_column sort,
			   struct strbuf *out)
{
	struct site_layout layout = {
		.shown = { SITE_LIVE, SITE_BLOCKS, SITE_VERDICT, SITE_YOUNG, SITE_RATE, SITE_ALLOCS,
			   SITE_PEAK },
		.n_shown = 7,
		.sort = sort,
		.columns = columns,
	};

	site_layout_fit(&layout, rows);
	strbuf_reset(out);
	site_rows_head(out, &layout);
	strbuf_addch(out, '\n');
	site_row_line(out, &rows->rows[0], &layout);
	assert_int_equal(strbuf_error(out), 0);
	return strbuf_str(out);
}

/* Narrow windows lose columns, the sorted one last. */
static void sites_can_be_read_in_any_window(void **state)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	struct fixture *f = *state;
	struct site_rows rows;

	emit_processes(f, 1);
	assert_int_equal(site_rows_sum(fixture_view(f, NULL), &rows), 0);
	assert_string_equal(line_of(&rows, 120, SITE_LIVE, &text),
			    "      *LIVE   BLOCKS  VERDICT       /S   ALLOCS       PEAK  SITE\n"
			    "   19.5 KiB       20  growing        0       20   19.5 KiB  "
			    "demo::Table<demo::Key>::function_20(…)  table.cc:120");
	assert_string_equal(line_of(&rows, 60, SITE_LIVE, &text),
			    "      *LIVE   BLOCKS  VERDICT  SITE\n"
			    "   19.5 KiB       20  growing  …>::function_20  table.cc:120");
	assert_string_equal(line_of(&rows, 40, SITE_LIVE, &text),
			    "      *LIVE  SITE\n"
			    "   19.5 KiB  …:function_20  table.cc:120");
	assert_string_equal(line_of(&rows, 40, SITE_PEAK, &text),
			    "      *PEAK  SITE\n"
			    "   19.5 KiB  …:function_20  table.cc:120");
	site_rows_done(&rows);
}

/* To the second empty line: the first one is behind the head of the report. */
static size_t summary_lines(const char *text)
{
	const char *end = strstr(strstr(text, "\n\n") + 2, "\n\n");
	size_t n = 1;

	for (; text < end; text++)
		n += *text == '\n';
	return n;
}

static void a_table_begins_with_one_screen(void **state)
{
	static const uint32_t n_processes[] = { 1, 2, 6 };

	(void)state;
	for (size_t i = 0; i < sizeof(n_processes) / sizeof(n_processes[0]); i++) {
		_cleanup_free_ char *text = NULL;
		struct fixture f;

		fixture_init(&f);
		emit_processes(&f, n_processes[i]);
		text = fixture_report(&f, "table", &(struct report_opts){ .top = 10 });
		assert_true(summary_lines(text) <= 23);
		assert_non_null(strstr(text, "RSS 100.0 MiB: heap 60%, free heap 20%, mmap 10%, "
					     "files 8%\n"));
		fixture_done(&f);
	}
}

/* But names of files, which are as long as they are. */
static void tables_fit_into_narrow_terminals(void **state)
{
	static const unsigned int widths[] = { 40, 60, 79, 80 };
	struct fixture *f = *state;

	emit_processes(f, 6);
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		for (enum group_by by = GROUP_BY_SITE; by <= GROUP_BY_FUNCTION; by++) {
			const struct report_opts opts = { .width = widths[i],
							  .group_by = by,
							  .top = 10 };
			_cleanup_free_ char *text = fixture_report(f, "table", &opts);

			for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
				if (text_columns(line) > widths[i])
					fail_msg("%u columns: %s", widths[i], line);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_freed_at_the_end_is_shown_by_its_peak),
		TEST(tables_fit_into_narrow_terminals),
		TEST(sites_of_a_function_and_line_are_one_row),
		TEST(sites_of_several_processes_are_one_row),
		TEST(of_a_process_whose_depth_changed_rows_are_of_the_latest_stretch),
		TEST(sites_can_be_read_in_any_window),
		cmocka_unit_test(a_table_begins_with_one_screen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
