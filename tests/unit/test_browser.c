/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tui/browser.h"

#include "probe/program_kinds.h"
#include "report/text/text.h"
#include "tests/replay/resident_memory.h"
#include "tests/replay/samples.h"
#include "tests/report_fixture.h"

#include <string.h>

#define SECOND 1000000000ull
#define APP "/opt/demo/server"

struct run {
	struct fixture f;
	struct browser *browser;
	struct browser_screen screen;
};

/* A process whose sites are at stacks 1 to n: site i holds i blocks of 100 bytes, i * 2 of all. */
static void cut(struct run *run, uint64_t time_ns, uint64_t n)
{
	const struct script *s = &run->f.script;

	emit_cut(s, time_ns);
	emit_totals(s, (struct record_totals){ .image = { 0 },
					       .allocs = n * (n + 1),
					       .live_bytes = (int64_t)(50 * n * (n + 1)),
					       .live_blocks = (int64_t)(n * (n + 1) / 2) });
	for (uint64_t i = 1; i <= n; i++)
		emit_site(s, (struct record_site){ .fn = 1,
						   .stack = i,
						   .live_bytes = (int64_t)(100 * i),
						   .live_blocks = (int64_t)i,
						   .young_bytes = (int64_t)(100 * (n - i)),
						   .young_blocks = (int64_t)(n - i),
						   .allocs = 2 * i });
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
}

/* The process goes on at another depth, at which so many blocks of 10 bytes were allocated. */
static void emit_stretch(struct run *run, uint32_t slot, uint64_t n)
{
	const struct script *s = &run->f.script;

	emit_end(s, slot - 1, RECORD_END_DEPTH, 0, 2000 + slot);
	emit_begin(s, slot, 4242, slot - 1, SCRIPT_ROOT, 2000 + slot, "server");
	emit_cut(s, 3000 + slot);
	if (n > 0)
		emit_totals(s, (struct record_totals){ .image = { slot },
						       .allocs = n,
						       .live_bytes = (int64_t)(10 * n),
						       .live_blocks = (int64_t)n });
	emit_cut_end(s);
}

static int setup(void **state)
{
	static struct run run;
	const struct script *s = &run.f.script;

	run = (struct run){ 0 };
	fixture_init(&run.f);
	emit_run(s);
	emit_function(s, 1, "malloc", "/lib/libc.so", 0x100);
	emit_begin(s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "ser\033ver");
	emit_map(s, 0, 0x400000, 0x500000, 0, 1000, APP, 11);
	for (uint64_t i = 1; i <= 40; i++) {
		char name[24];

		snprintf(name, sizeof(name), i == 7 ? "evil\033[2J\n%02u" : "func%02u",
			 (unsigned)i);
		emit_stack(s, i, 0, 1000, 0x400000 + i * 16, 0x400008);
		emit_symbol(s, APP, 11, i * 16, { name, 0, NULL, 0, false });
	}
	emit_symbol(s, APP, 11, 8, { "main", 0, "/src/main.c", 7, false });
	assert_int_equal(browser_new(&run.browser), 0);
	browser_resize(run.browser, 24, 100);
	*state = &run;
	return 0;
}

static int teardown(void **state)
{
	struct run *run = *state;

	browser_screen_done(&run->screen);
	browser_free(run->browser);
	fixture_done(&run->f);
	return 0;
}

static void update(struct run *run, uint64_t time_ns, uint64_t n)
{
	cut(run, time_ns, n);
	assert_int_equal(browser_update(run->browser, fixture_view(&run->f, NULL)), 0);
}

/* Line `i` of the screen, "" beyond; of one at a time. */
static const char *line(struct run *run, size_t i)
{
	static char text[512];
	const struct browser_line *found;

	assert_int_equal(browser_draw(run->browser, &run->screen), 0);
	if (i >= run->screen.n_lines)
		return "";
	found = &run->screen.lines[i];
	assert_true(found->len < sizeof(text));
	if (found->len > 0)
		memcpy(text, run->screen.text.data + found->start, found->len);
	text[found->len] = '\0';
	return text;
}

static bool line_has(struct run *run, size_t i, const char *what)
{
	return strstr(line(run, i), what) != NULL;
}

static void keys(struct run *run, const char *text)
{
	for (; *text; text++)
		assert_int_equal(browser_key(run->browser, *text), BROWSER_NOTHING);
}

/* At its prompt. */
static void filter(struct run *run, const char *text)
{
	for (; *text; text++)
		assert_int_equal(browser_key(run->browser, *text), BROWSER_UPDATE);
}

static void the_header_has_the_exact_totals(void **state)
{
	struct run *run = *state;

	update(run, SECOND, 10);
	assert_true(line_has(run, 0, "ser\\x1bver (pid 4242)"));
	assert_true(line_has(run, 0, "exact"));
	assert_true(line_has(run, 1, "(5500 B) in 55 blocks"));
	update(run, 3 * SECOND, 20);
	/* 420 allocations after 110, two seconds later. */
	assert_true(line_has(run, 1, "155 allocs/s"));
}

static void what_was_live_before_the_depth_changed_is_in_no_total(void **state)
{
	struct run *run = *state;

	cut(run, 2000, 3);
	emit_stretch(run, 1, 0);
	emit_stretch(run, 2, 7);
	emit_stretch(run, 3, 0);
	assert_int_equal(browser_update(run->browser, fixture_view(&run->f, NULL)), 0);
	assert_int_equal(view_n_processes(run->f.view), 3);
	assert_true(line_has(run, 0, "server (pid 4242), "));
	assert_true(line_has(run, 1, "70 B (70 B) in "));
}

static void columns_sort_and_the_selection_follows_its_site(void **state)
{
	struct run *run = *state;

	update(run, SECOND, 10);
	assert_true(line_has(run, 3, "*LIVE"));
	assert_true(line_has(run, 4, "func10"));
	browser_marked(run->browser, SECOND);
	update(run, 2 * SECOND, 10);
	assert_true(line_has(run, 3, "*NEW"));
	assert_true(line_has(run, 4, "func01"));
	keys(run, "ljj");
	assert_true(line_has(run, 4, "func10"));
	assert_int_equal(run->screen.lines[6].style, STYLE_REVERSE);
	/* Two sites come before it now. */
	update(run, 3 * SECOND, 12);
	assert_true(line_has(run, 8, "func08"));
	assert_int_equal(run->screen.lines[8].style, STYLE_REVERSE);
}

static void a_filter_leaves_what_matches_in_any_frame(void **state)
{
	struct run *run = *state;

	update(run, SECOND, 12);
	keys(run, "/");
	filter(run, "FUNC1");
	update(run, 2 * SECOND, 12);
	assert_true(line_has(run, 2, "3 of 12 sites with 'FUNC1'"));
	for (int i = 0; i < 5; i++)
		assert_int_equal(browser_key(run->browser, BROWSER_BACKSPACE), BROWSER_UPDATE);
	assert_int_equal(browser_key(run->browser, BROWSER_BACKSPACE), BROWSER_NOTHING);
	filter(run, "Main.C");
	update(run, 3 * SECOND, 12);
	assert_true(line_has(run, 2, "12 of 12 sites"));
}

static void a_filter_is_kept_by_enter_and_cleared_by_escape(void **state)
{
	struct run *run = *state;

	update(run, SECOND, 12);
	keys(run, "/");
	filter(run, "func1");
	assert_true(line_has(run, 23, "filter: func1_   enter: keep  esc: all sites"));
	assert_int_equal(browser_key(run->browser, BROWSER_ENTER), BROWSER_NOTHING);
	update(run, 2 * SECOND, 12);
	assert_true(line_has(run, 2, "3 of 12 sites with 'func1'"));
	/* It goes on where it was. */
	keys(run, "/");
	filter(run, "2");
	update(run, 3 * SECOND, 12);
	assert_true(line_has(run, 2, "1 of 12 sites with 'func12'"));
	assert_int_equal(browser_key(run->browser, BROWSER_ESCAPE), BROWSER_UPDATE);
	update(run, 4 * SECOND, 12);
	assert_true(line_has(run, 2, "12 sites"));
	assert_int_equal(browser_key(run->browser, BROWSER_ESCAPE), BROWSER_NOTHING);
	keys(run, "/");
	filter(run, "f");
	assert_int_equal(browser_key(run->browser, BROWSER_ENTER), BROWSER_NOTHING);
	assert_int_equal(browser_key(run->browser, BROWSER_ESCAPE), BROWSER_UPDATE);
	update(run, 5 * SECOND, 12);
	assert_true(line_has(run, 2, "12 sites"));
}

static void the_header_says_what_is_resident_and_whether_it_grows(void **state)
{
	struct run *run = *state;

	emit_samples(&run->f.script, 0, 20, 1);
	cut(run, 80 * SECOND, 10);
	emit_resident_process(&run->f.script, 0, 1 << 20, 80 * SECOND);
	assert_int_equal(browser_update(run->browser, fixture_view(&run->f, NULL)), 0);
	assert_true(line_has(run, 1, "; growing ~"));
	assert_string_equal(line(run, 2),
			    "RSS 100.0 MiB: heap 60%, free heap 20%, mmap 10%, files 8%");
	assert_true(line_has(run, 3, "10 sites"));
	assert_true(line_has(run, 4, "*LIVE"));
	assert_true(line_has(run, 5, "func10"));
	browser_resize(run->browser, 24, 42);
	assert_true(line_has(run, 0, "ser\\x1bver (pid 4242), "));
	assert_true(line_has(run, 1, "live 5.4 KiB; growing ~"));
	assert_string_equal(line(run, 2), "RSS 100.0 MiB: heap 60%, free heap 20% …");
	assert_true(line_has(run, 23, "q: end"));
}

static void notes_are_below_the_rows_or_on_a_page(void **state)
{
	struct run *run = *state;

	emit(&run->f.script, &(struct record){ .type = RECORD_MAPPING,
					       .mapping = { .start = 0x600000,
							    .end = 0x601000,
							    .time_ns = 1000,
							    .path = "/usr/bin/python3",
							    .executable = true,
							    .kind = PROGRAM_PYTHON } });
	update(run, SECOND, 3);
	assert_string_equal(line(run, 7), "");
	assert_true(line_has(run, 8, "ser\\x1bver (pid 4242): Python; "));
	assert_false(line_has(run, 2, "i: notes"));
	update(run, 2 * SECOND, 30);
	assert_true(line_has(run, 2, "30 sites; i: notes"));
	keys(run, "i");
	assert_string_equal(line(run, 0), "notes");
	assert_true(line_has(run, 1, "ser\\x1bver (pid 4242): Python; "));
	keys(run, "q");
	assert_true(line_has(run, 3, "*LIVE"));
}

static void a_site_opens_with_its_stack(void **state)
{
	struct run *run = *state;

	update(run, SECOND, 10);
	keys(run, "j");
	assert_int_equal(browser_key(run->browser, BROWSER_ENTER), BROWSER_UPDATE);
	update(run, 2 * SECOND, 10);
	assert_string_equal(line(run, 2), "func09  (server)");
	assert_string_equal(line(run, 3), "main  main.c:7");
	/* What is gone stays as it was. */
	update(run, 3 * SECOND, 3);
	assert_true(line_has(run, 0, "gone"));
	assert_string_equal(line(run, 2), "func09  (server)");
	assert_int_equal(browser_key(run->browser, 'q'), BROWSER_NOTHING);
	assert_true(line_has(run, 3, "*LIVE"));
	assert_int_equal(browser_key(run->browser, 'q'), BROWSER_QUIT);
}

/* func10 is called from another place, too, where it holds 300 bytes. */
static void a_row_is_a_function_and_line_and_opens_with_all_its_stacks(void **state)
{
	struct run *run = *state;
	const struct script *s = &run->f.script;

	emit_stack(s, 41, 0, 1000, 0x400000 + 160, 0x40000c);
	emit_symbol(s, APP, 11, 12, { "other", 0, "/src/main.c", 9, false });
	update(run, SECOND, 10);
	emit_cut(s, 2 * SECOND);
	emit_totals(s,
		    (struct record_totals){ .allocs = 9, .live_bytes = 1300, .live_blocks = 13 });
	emit_site(s, (struct record_site){
			     .fn = 1, .stack = 41, .live_bytes = 300, .live_blocks = 3 });
	emit_site(s, (struct record_site){ .fn = 1,
					   .stack = 10,
					   .live_bytes = 1000,
					   .live_blocks = 1,
					   .peak_bytes = 2000,
					   .allocs = 9 });
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
	assert_int_equal(browser_update(run->browser, fixture_view(&run->f, NULL)), 0);
	assert_true(line_has(run, 2, "1 site"));
	assert_true(line_has(run, 4, "1.3 KiB        4"));
	assert_true(line_has(run, 4, "func10"));
	(void)browser_key(run->browser, BROWSER_ENTER);
	assert_int_equal(browser_update(run->browser, fixture_view(&run->f, NULL)), 0);
	assert_string_equal(line(run, 1),
			    "stack 1 of 2, 1000 B live in 1 block, 2.0 KiB at the peak");
	assert_string_equal(line(run, 4), "main  main.c:7");
	assert_string_equal(line(run, 6), "stack 2 of 2, 300 B live in 3 blocks, 0 B at the peak");
	assert_string_equal(line(run, 9), "other  main.c:9");
}

static void what_the_target_named_moves_no_cursor(void **state)
{
	struct run *run = *state;

	update(run, SECOND, 40);
	assert_int_equal(browser_draw(run->browser, &run->screen), 0);
	for (size_t i = 0; i < run->screen.text.len; i++)
		assert_true((unsigned char)run->screen.text.data[i] >= ' ');
}

static void every_window_gets_no_more_than_it_has(void **state)
{
	static const char pages[] = { 'g', '?' };
	struct run *run = *state;

	update(run, SECOND, 40);
	for (size_t page = 0; page < sizeof(pages); page++) {
		(void)browser_key(run->browser, pages[page]);
		for (size_t height = 0; height < 30; height++) {
			for (size_t width = 0; width < 120; width += 3) {
				browser_resize(run->browser, height, width);
				assert_int_equal(browser_draw(run->browser, &run->screen), 0);
				assert_int_equal(run->screen.n_lines, height);
				for (size_t i = 0; i < run->screen.n_lines; i++)
					assert_true(text_columns(line(run, i)) <= width);
			}
		}
	}
}

/* Site 40 holds 40 samples, site 9 holds 9 of the 820. */
static void estimates_say_what_they_can_be_off(void **state)
{
	struct run *run = *state;
	const struct script *s = &run->f.script;

	emit(s, &(struct record){ .type = RECORD_RUN, .run = { .tool = "t", .sampled = true } });
	emit_cut(s, SECOND);
	emit_totals(s, (struct record_totals){ .image = { 0 },
					       .allocs = 1640,
					       .bytes = 820000,
					       .live_bytes = 820000,
					       .live_blocks = 820,
					       .peak_bytes = 820000,
					       .sample_interval = 1000,
					       .blocks_variance = 820 });
	for (uint64_t i = 1; i <= 40; i++)
		emit_site(s, (struct record_site){ .fn = 1,
						   .stack = i,
						   .live_bytes = (int64_t)(1000 * i),
						   .live_blocks = (int64_t)i,
						   .bytes = 1000 * i,
						   .peak_bytes = (int64_t)(1000 * i),
						   .allocs = i,
						   .blocks_variance = i,
						   .allocs_variance = i });
	emit_coverage(s, false, 10, NULL, 0);
	emit_cut_end(s);
	browser_resize(run->browser, 50, 120);
	assert_int_equal(browser_update(run->browser, fixture_view(&run->f, NULL)), 0);
	assert_true(line_has(run, 0, "ESTIMATES, ± is 95 %"));
	/* 1.96 times the root of 820 */
	assert_true(line_has(run, 1,
			     "live ~800.8 KiB ± 54.9 KiB in ~820 ± 57 blocks, peak ~800.8 "
			     "KiB ± 54.9 KiB"));
	assert_true(line_has(run, 3, "*LIVE        95%"));
	assert_true(line_has(run, 4, "~39.1 KiB  ±12.4 KiB"));
	assert_false(line_has(run, 4, "?"));
	assert_true(line_has(run, 35, " ±6.3 KiB?"));
	(void)browser_key(run->browser, BROWSER_ENTER);
	assert_int_equal(browser_update(run->browser, fixture_view(&run->f, NULL)), 0);
	assert_true(line_has(run, 1, "live: ~39.1 KiB ± 12.4 KiB in ~40 ± 13 blocks"));
	assert_true(line_has(run, 2, "at the peak: ~39.1 KiB ± 12.4 KiB"));
	assert_true(line_has(run, 3, "allocated: ~39.1 KiB ± 12.4 KiB in ~40 ± 13 allocations"));
}

static void help_can_be_read_in_a_narrow_window(void **state)
{
	struct run *run = *state;
	bool has_end = false;

	browser_resize(run->browser, 60, 40);
	keys(run, "?");
	for (size_t i = 0; i < run->screen.n_lines || i == 0; i++)
		has_end |= line_has(run, i, "LIVE.");
	assert_true(has_end);
	browser_resize(run->browser, 10, 40);
	(void)browser_key(run->browser, BROWSER_END);
	assert_true(line_has(run, 8, "standard output"));
}

static void one_can_go_to_both_ends(void **state)
{
	struct run *run = *state;

	update(run, SECOND, 40);
	(void)browser_key(run->browser, BROWSER_END);
	/* 19 rows fit. */
	assert_true(line_has(run, 22, "func01"));
	assert_true(line_has(run, 4, "func19"));
	(void)browser_key(run->browser, BROWSER_PAGE_UP);
	assert_true(line_has(run, 4, "func20"));
	(void)browser_key(run->browser, BROWSER_HOME);
	assert_true(line_has(run, 4, "func40"));
	(void)browser_key(run->browser, BROWSER_UP);
	assert_true(line_has(run, 4, "func40"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_header_has_the_exact_totals),
		TEST(what_was_live_before_the_depth_changed_is_in_no_total),
		TEST(columns_sort_and_the_selection_follows_its_site),
		TEST(a_filter_leaves_what_matches_in_any_frame),
		TEST(a_filter_is_kept_by_enter_and_cleared_by_escape),
		TEST(the_header_says_what_is_resident_and_whether_it_grows),
		TEST(notes_are_below_the_rows_or_on_a_page),
		TEST(a_site_opens_with_its_stack),
		TEST(a_row_is_a_function_and_line_and_opens_with_all_its_stacks),
		TEST(what_the_target_named_moves_no_cursor),
		TEST(every_window_gets_no_more_than_it_has),
		TEST(help_can_be_read_in_a_narrow_window),
		TEST(one_can_go_to_both_ends),
		TEST(estimates_say_what_they_can_be_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
