/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peaks of several processes are of different moments: what adds them up says so. */
#include "tests/report_fixture.h"

#include <string.h>

#define APP "/opt/demo/server"

static void emit_processes(struct fixture *f, uint32_t n)
{
	const struct script *s = &f->script;

	emit_run(s);
	for (uint32_t i = 0; i < n; i++) {
		emit_begin(s, i, 42 + i, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
		emit_map(s, i, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
		emit_stack(s, 71 + i, i, 2000, 0x10123);
	}
	emit_symbol(s, APP, 11, 0x1123, { "main", 0x19, NULL, 0, false });
	emit_cut(s, 9000);
	for (uint32_t i = 0; i < n; i++) {
		emit_totals(s, (struct record_totals){ .image = { i },
						       .allocs = 1,
						       .live_bytes = 64,
						       .peak_bytes = 96 });
		emit_site(s, (struct record_site){ .image = { i },
						   .stack = 71 + i,
						   .live_bytes = 64,
						   .live_blocks = 1,
						   .peak_bytes = 96 });
	}
	emit_coverage(s, true, 1, NULL, 0);
	emit_cut_end(s);
}

#define EACH_TIME "of each process at its own time"

static void sums_of_peaks_say_that_they_are_of_several_moments(void **state)
{
	static const struct {
		const char *format;
		struct report_opts opts;
		const char *words;
	} cases[] = {
		{ "folded",
		  { .sort = SORT_PEAK },
		  "each_process_at_its_own_peak;server-42;main 96\n" },
		{ "flamegraph", { .sort = SORT_PEAK }, "peaks are " EACH_TIME },
		{ "gprof2dot", { .sort = SORT_PEAK }, "\"Heap at its peak, " EACH_TIME "\"" },
		{ "callgrind", { 0 }, "desc: Peaks: " EACH_TIME },
		{ "speedscope", { 0 }, "Bytes at the heap's peak, " EACH_TIME },
		{ "table", { .group_by = GROUP_BY_FUNCTION }, "AT PEAK: " EACH_TIME },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint32_t n = 1; n <= 2; n++) {
			_cleanup_free_ char *text = NULL;
			struct fixture f;

			fixture_init(&f);
			emit_processes(&f, n);
			text = fixture_report(&f, cases[i].format, &cases[i].opts);
			if (!strstr(text, cases[i].words) != (n == 1))
				fail_msg("%s of %u:\n%.3000s", cases[i].format, n, text);
			fixture_done(&f);
		}
}

/* A name is in fixed places there, with zeros between. */
static bool holds(const char *data, size_t len, const char *name)
{
	return memmem(data, len, name, strlen(name) + 1) != NULL;
}

static void perf_data_names_its_peaks_by_how_many_there_are(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= 2; n++) {
		_cleanup_free_ char *data = NULL;
		struct fixture f;

		fixture_init(&f);
		emit_processes(&f, n);
		data = fixture_report(&f, "perf-data", NULL);
		assert_int_equal(holds(data, f.text_len, "memtraced-Peak"), n == 1);
		assert_int_equal(holds(data, f.text_len, "memtraced-PeakOfEachProcess"), n == 2);
		assert_int_equal(holds(data, f.text_len, "memtraced-MappedPeak"), n == 1);
		fixture_done(&f);
	}
}

static void what_is_no_peak_is_added_up_without_a_word(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	emit_processes(&f, 2);
	text = fixture_report(&f, "folded", NULL);
	assert_string_equal(text, "server-42;main 64\nserver-43;main 64\n");
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_peaks_say_that_they_are_of_several_moments),
		cmocka_unit_test(perf_data_names_its_peaks_by_how_many_there_are),
		cmocka_unit_test(what_is_no_peak_is_added_up_without_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
