/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reports say of their totals: exact, estimates of samples, or that something was lost. */
#include "report/view/view_coverage.h"
#include "tests/report_fixture.h"

#include <string.h>

#define APP "/opt/demo/server"

enum kind {
	ALL_CALLS,
	SAMPLED_EVENTS,	    /* and nothing else */
	CALLS_AND_SAMPLES,  /* all calls, and samples of an event */
	SAMPLED_ALLOCATIONS /* --sample */
};

static void emit_kind(struct fixture *f, enum kind kind, uint64_t lost)
{
	const struct script *s = &f->script;
	const struct record_loss loss = { "ring-full", lost };
	bool has_events = kind == SAMPLED_EVENTS || kind == CALLS_AND_SAMPLES;
	struct record_run run = { .tool = "memtraced 0.1.0",
				  .no_allocations = kind == SAMPLED_EVENTS,
				  .sampled = kind == SAMPLED_ALLOCATIONS };

	emit(s, &(struct record){ .type = RECORD_RUN, .run = run });
	if (has_events)
		emit(s, &(struct record){ .type = RECORD_EVENT,
					  .event = { .id = 1,
						     .name = "page-faults",
						     .period = 100,
						     .page_bytes = 4096 } });
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_symbol(s, APP, 11, 0x1123, { "main", 0x19, NULL, 0, false });
	emit_cut(s, 9000);
	if (has_events)
		emit_event_count(s, (struct record_event_count){ .id = 1,
								 .stack = 71,
								 .count = 30,
								 .first_ns = 2000,
								 .last_ns = 3000 });
	if (kind != SAMPLED_EVENTS) {
		bool sampled = kind == SAMPLED_ALLOCATIONS;

		emit_totals(s, (struct record_totals){ .image = { 0 },
						       .allocs = 1,
						       .live_bytes = 64,
						       .peak_bytes = 64,
						       .sample_interval = sampled ? 512 : 0,
						       .samples = sampled,
						       .live_samples = sampled });
		emit_site(s, (struct record_site){ .image = { 0 },
						   .stack = 71,
						   .live_bytes = 64,
						   .live_blocks = 1,
						   .allocs = 1,
						   .bytes = 64,
						   .peak_bytes = 64 });
	}
	emit_coverage(s, kind != SAMPLED_ALLOCATIONS && lost == 0, 30, &loss, lost > 0);
	emit_cut_end(s);
}

static void a_run_is_exact_where_nothing_is_lost_and_not_all_is_sampled(void **state)
{
	static const struct {
		enum kind kind;
		uint64_t lost;
		bool exact, process_exact;
	} cases[] = {
		{ ALL_CALLS, 0, true, true },
		{ ALL_CALLS, 3, false, false },
		{ SAMPLED_EVENTS, 0, false, false },
		{ SAMPLED_EVENTS, 3, false, false },
		{ CALLS_AND_SAMPLES, 0, true, true },
		{ CALLS_AND_SAMPLES, 3, false, false },
		{ SAMPLED_ALLOCATIONS, 0, false, false },
		{ SAMPLED_ALLOCATIONS, 3, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;
		const struct view *view;

		fixture_init(&f);
		emit_kind(&f, cases[i].kind, cases[i].lost);
		view = fixture_view(&f, NULL);
		assert_int_equal(view_is_exact(view), cases[i].exact);
		assert_int_equal(view_process(view, 0)->exact, cases[i].process_exact);
		assert_int_equal(view_coverage(view)->exact, cases[i].exact);
		fixture_done(&f);
	}
}

#define NOT_EXACT "not exact, events were lost"

static void each_format_says_what_its_totals_are(void **state)
{
	static const struct {
		enum kind kind;
		uint64_t lost;
		const char *format, *has, *has_not;
	} cases[] = {
		{ ALL_CALLS, 0, "table", "none lost: totals are exact\n", "ESTIMATES" },
		{ SAMPLED_EVENTS, 0, "table", "30 samples seen, none lost: totals are ESTIMATES\n",
		  "exact" },
		{ SAMPLED_EVENTS, 0, "table", "~3000", "≥" },
		{ SAMPLED_EVENTS, 3, "table", "NOT EXACT: 3 lost", "ESTIMATES" },
		{ CALLS_AND_SAMPLES, 0, "table",
		  "none lost: totals are exact, those of sampled events\n", "NOT EXACT" },
		{ SAMPLED_ALLOCATIONS, 0, "table", "none lost: totals are ESTIMATES",
		  "totals are exact" },
		{ ALL_CALLS, 0, "json", "\"coverage\":{\"exact\":true", "\"exact\":false" },
		{ SAMPLED_EVENTS, 0, "json", "\"coverage\":{\"exact\":false", "\"exact\":true" },
		{ CALLS_AND_SAMPLES, 0, "json", "\"coverage\":{\"exact\":true", "\"exact\":false" },
		{ ALL_CALLS, 0, "html", "none lost: totals are exact\"", "\"exact\":false" },
		{ SAMPLED_EVENTS, 0, "html", "30 samples seen, none lost: totals are ESTIMATES\"",
		  "\"exact\":true" },
		{ CALLS_AND_SAMPLES, 0, "html",
		  "totals are exact, those of sampled events ESTIMATES\"", "\"exact\":false" },
		{ SAMPLED_ALLOCATIONS, 0, "html", "none lost: totals are ESTIMATES, not exact",
		  "\"exact\":true" },
		{ ALL_CALLS, 0, "callgrind", "Totals: exact\n", "not exact" },
		{ SAMPLED_EVENTS, 0, "callgrind", "Totals: estimates\n", "exact" },
		{ SAMPLED_EVENTS, 3, "callgrind", "Totals: " NOT_EXACT "\n", "estimates" },
		{ SAMPLED_ALLOCATIONS, 0, "callgrind", "Totals: estimates\n", "exact" },
		{ SAMPLED_ALLOCATIONS, 3, "callgrind", "Totals: " NOT_EXACT "\n", "estimates" },
		{ ALL_CALLS, 0, "massif", ", exact", "not exact" },
		{ ALL_CALLS, 3, "massif", NOT_EXACT, "estimates" },
		{ SAMPLED_ALLOCATIONS, 0, "massif", ", estimates", "exact" },
		{ SAMPLED_ALLOCATIONS, 0, "heaptrack", ", totals estimates;", "exact" },
		{ SAMPLED_EVENTS, 0, "speedscope", "(estimates)", "exact" },
		{ SAMPLED_ALLOCATIONS, 0, "speedscope", "(estimates)", "not exact" },
		{ ALL_CALLS, 0, "flamegraph", "main", "not exact" },
		{ SAMPLED_EVENTS, 0, "flamegraph", "one page fault in 100 was sampled",
		  "not exact" },
		{ SAMPLED_ALLOCATIONS, 0, "flamegraph", "estimates", "not exact" },
		{ ALL_CALLS, 3, "flamegraph", "not exact", "estimates" },
		{ ALL_CALLS, 0, "prometheus", "\nmemtraced_exact 1\n", "\nmemtraced_exact 0" },
		{ SAMPLED_EVENTS, 0, "prometheus", "\nmemtraced_exact 0\n", "\nmemtraced_exact 1" },
		{ SAMPLED_EVENTS, 0, "perf-script", "page-faults", "NOT EXACT" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *text = NULL;
		struct fixture f;

		fixture_init(&f);
		emit_kind(&f, cases[i].kind, cases[i].lost);
		text = fixture_report(&f, cases[i].format, NULL);
		if (!strstr(text, cases[i].has) || strstr(text, cases[i].has_not))
			fail_msg("%zu: %s / %s in %s:\n%.3000s", i, cases[i].has, cases[i].has_not,
				 cases[i].format, text);
		fixture_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_is_exact_where_nothing_is_lost_and_not_all_is_sampled),
		cmocka_unit_test(each_format_says_what_its_totals_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
