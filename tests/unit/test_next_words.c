/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run that saw nothing says what was not seen and what to try, in each report that has words. */
#include "report/text/next_words.h"
#include "tests/report_fixture.h"

#include <string.h>

/* A run of this kind in which one process ran, and its latest state. */
static void emit_nothing(struct fixture *f, struct record_run run, const struct record_event *event,
			 const struct record_loss *loss)
{
	const struct script *s = &f->script;

	run.tool = "memtraced 0.1.0";
	emit(s, &(struct record){ .type = RECORD_RUN, .run = run });
	if (event)
		emit(s, &(struct record){ .type = RECORD_EVENT, .event = *event });
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_cut(s, 9000);
	if (!run.no_allocations)
		emit_totals(s, (struct record_totals){ .image = { 0 } });
	emit_coverage(s, !loss, 0, loss, loss != NULL);
	emit_cut_end(s);
}

static void assert_said(const char *text, const char *wanted)
{
	_cleanup_free_ char *line = strdup(text);

	assert_non_null(line);
	/* Broken lines of the table, which are indented by 10 there. */
	for (char *at; (at = strstr(line, "\n          "));) {
		*at = ' ';
		memmove(at + 1, at + 11, strlen(at + 11) + 1);
	}
	if (!strstr(line, wanted))
		fail_msg("not said: %s\nin: %s", wanted, line);
}

static void what_was_not_seen_decides_what_is_said(void **state)
{
	static const struct {
		struct record_run run;
		struct record_event event;
		const char *said;
	} rows[] = {
		{ { 0 }, { 0 }, "no call of an allocator was seen: --existing counts" },
		{ { .sampled = true }, { 0 }, "no sample was seen: a smaller --sample=SIZE" },
		{ { .no_heap = true }, { 0 }, "no mapping was made: --alloc counts" },
		{ { .no_allocations = true }, { 0 }, "it did not happen in what was traced" },
		{ { .no_allocations = true }, { .name = "getrandom" }, "the whole host (-a)" },
		{ { .no_allocations = true },
		  { .name = "cpu", .period_ns = 1000 },
		  "--off-cpu shows what is waited for" },
		{ { .no_allocations = true }, { .name = "off-cpu", .timed = true }, "--cpu shows" },
		{ { .no_allocations = true },
		  { .name = "page-faults", .page_bytes = 4096, .period = 100 },
		  "--page-faults=1 counts each" },
		{ { .no_allocations = true },
		  { .name = "page-faults", .page_bytes = 4096, .period = 1 },
		  "no page fault was seen" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *table = NULL, *json = NULL, *html = NULL;
		struct fixture f;

		fixture_init(&f);
		emit_nothing(&f, rows[i].run, rows[i].event.name ? &rows[i].event : NULL, NULL);
		table = fixture_report(&f, "table", NULL);
		json = fixture_report(&f, "json", NULL);
		html = fixture_report(&f, "html", NULL);
		assert_said(table, "0 ");
		assert_said(table, "none lost; ");
		assert_said(table, rows[i].said);
		assert_said(json, "\"hint\":\"");
		assert_said(json, rows[i].said);
		assert_said(html, rows[i].said);
		assert_null(strstr(table, "totals are"));
		fixture_done(&f);
	}
}

static void a_run_that_lost_all_says_so_and_what_to_try(void **state)
{
	const struct record_loss loss = { "no-allocator-found", 1 };
	_cleanup_free_ char *table = NULL;
	struct fixture *f = *state;

	emit_nothing(f, (struct record_run){ 0 }, NULL, &loss);
	table = fixture_report(f, "table", NULL);
	assert_said(table, "0 events seen, NOT EXACT: 1 lost (no-allocator-found 1); no call of an "
			   "allocator was seen: --existing counts what a running process holds, "
			   "--page-faults=10 shows where its memory grows");
}

/* As of an allocator that --existing does not know, or of a heap in which it found nothing. */
static void what_was_given_is_not_suggested(void **state)
{
	const struct record_loss loss = { RECORD_CAUSE_BEFORE_UNREAD, 1 };
	struct fixture *f = *state;

	emit_nothing(f, (struct record_run){ 0 }, NULL, &loss);
	assert_string_equal(next_words(f->model),
			    "no call of an allocator was seen: --page-faults=10 shows where its "
			    "memory grows");
	emit_cut(&f->script, 9500);
	emit_totals(&f->script, (struct record_totals){ .image = { 0 }, .has_before = true });
	emit_coverage(&f->script, true, 0, NULL, 0);
	emit_cut_end(&f->script);
	assert_string_equal(next_words(f->model),
			    "no call of an allocator was seen: --page-faults=10 shows where its "
			    "memory grows");
}

static void an_event_that_did_not_happen_says_what_to_try(void **state)
{
	_cleanup_free_ char *table = NULL;
	struct fixture *f = *state;
	const struct record_event event = { .id = 1, .name = "cpu", .period_ns = 1000 };

	emit_nothing(f, (struct record_run){ .no_allocations = true }, &event, NULL);
	emit_histogram(&f->script, (struct record_histogram){ .id = 1, .spec = "read" });
	table = fixture_report(f, "table", NULL);
	assert_non_null(strstr(table, "on 0 stacks; no sample was taken"));
	assert_non_null(strstr(table, "@: read: nothing counted; it did not happen"));
}

static void what_was_seen_needs_no_words(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;

	assert_null(next_words(f->model)); /* nothing is known yet */
	emit_nothing(f, (struct record_run){ 0 }, NULL, NULL);
	assert_non_null(next_words(f->model));
	/* Of before the attach, and no event since. */
	emit_cut(s, 9500);
	emit_totals(s, (struct record_totals){
			       .image = { 0 }, .has_before = true, .before_blocks = 3 });
	emit_coverage(s, true, 0, NULL, 0);
	emit_cut_end(s);
	assert_null(next_words(f->model));
	emit_cut(s, 9600);
	emit_totals(s, (struct record_totals){ .image = { 0 } });
	emit_coverage(s, true, 1, NULL, 0);
	emit_cut_end(s);
	assert_null(next_words(f->model));
}

static void empty_programs_count_nothing_on_purpose(void **state)
{
	const struct record_loss loss = { RECORD_CAUSE_FLOOR, 1 };
	struct fixture *f = *state;

	emit_nothing(f, (struct record_run){ 0 }, NULL, &loss);
	assert_null(next_words(f->model));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_seen_decides_what_is_said),
		cmocka_unit_test_setup_teardown(a_run_that_lost_all_says_so_and_what_to_try,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(what_was_given_is_not_suggested, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(an_event_that_did_not_happen_says_what_to_try,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(what_was_seen_needs_no_words, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(empty_programs_count_nothing_on_purpose,
						fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
