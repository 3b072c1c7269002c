/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings that others wrote: every field of every type of record is once absent, empty, zero,
 * largest and another's, every record once missing, twice there and in another place, and all
 * writers make a report of each. Nothing is compared: what counts is that they end, and that
 * sanitizers (make check runs this in the build of the fuzz programs, too) find nothing.
 */
#include "report/diff/diff.h"
#include "report/leak/leak_result.h"
#include "report/perf/perf_script.h"
#include "tests/replay/hostile_records.h"
#include "tests/replay/scenarios.h"
#include "tests/report_fixture.h"
#include "trace/record/record_codec.h"

#include <string.h>

#define RECORD_TYPES 64

/* What a recording is read into. */
struct reader {
	struct fixture fixture;
	FILE *null;
	struct perf_script_stream *stream; /* NULL before the first event */
	struct leak_result *leaks;
};

static void reader_init(struct reader *reader, FILE *null)
{
	*reader = (struct reader){ .null = null };
	fixture_init(&reader->fixture);
}

static void reader_done(struct reader *reader)
{
	perf_script_stream_free(reader->stream);
	leak_result_free(reader->leaks);
	fixture_done(&reader->fixture);
}

static void read_others(struct reader *reader, const struct record *record)
{
	struct fixture *f = &reader->fixture;

	if (record->type == RECORD_EVENT && !reader->stream)
		assert_int_equal(perf_script_stream_new(f->model, f->symbols, record->event.id,
							reader->null, &reader->stream),
				 0);
	if (record->type == RECORD_OCCURRENCE && reader->stream)
		assert_int_equal(perf_script_stream_add(reader->stream, &record->occurrence), 0);
	if (record->type == RECORD_LEAKS) {
		leak_result_free(reader->leaks);
		assert_int_equal(leak_record_read(&record->leaks, &reader->leaks), 0);
	}
}

/* A record that is refused where it stands ends a report; the rest is still worth reading here. */
static void read_payload(struct reader *reader, const struct payload *payload)
{
	struct record record;

	if (record_decode(false, payload->type, strbuf_str(&payload->bytes), payload->bytes.len,
			  &record) < 0)
		return;
	(void)fixture_apply(&record, &reader->fixture);
	read_others(reader, &record);
	record_done(&record);
}

/* No byte of what others wrote controls the terminal that shows a text. */
static void check_text(const char *format, const char *text, size_t len)
{
	static const char *const unsafe[] = { "\xc2\x9b", "\xe2\x80\xae", "\xff" };

	for (size_t i = 0; i < len; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t') ||
		    text[i] == 0x7f)
			fail_msg("%s: byte %d behind\n%.*s", format, text[i],
				 (int)(i < 200 ? i : 200), text + (i < 200 ? 0 : i - 200));
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
		if (memmem(text, len, unsafe[i], strlen(unsafe[i])))
			fail_msg("%s has '%s'", format, unsafe[i]);
}

/* For programs: what JSON and labels of metrics need not escape is as it was. */
static bool is_data(const char *format)
{
	return strcmp(format, "json") == 0 || strcmp(format, "speedscope") == 0 ||
	       strcmp(format, "html") == 0 || strcmp(format, "gprof2dot") == 0 ||
	       strcmp(format, "openmetrics") == 0 || strcmp(format, "prometheus") == 0;
}

static void check_texts(const struct view *view)
{
	size_t n;
	const struct report_format *formats = report_formats(&n);

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *text = NULL;
		size_t len;
		FILE *file = formats[i].binary || is_data(formats[i].name) ?
				     NULL :
				     open_memstream(&text, &len);

		if (!file)
			continue;
		(void)report_format_write(&formats[i], view, NULL, file); /* may refuse */
		fclose(file);
		check_text(formats[i].name, text, len);
	}
}

static void write_view(const struct view *view, FILE *null)
{
	size_t n;
	const struct report_format *formats = report_formats(&n);

	for (size_t i = 0; i < n; i++) {
		(void)report_format_write(&formats[i], view, NULL, null); /* may refuse */
		for (size_t j = 0; formats[i].write_process && j < view_n_processes(view); j++)
			(void)formats[i].write_process(view, view_process(view, j), null);
	}
}

static void write_diff(const struct view *view, const struct view *other,
		       const struct report_opts *opts, FILE *null)
{
	const struct diff_run runs[] = { { "before", other, false }, { "after", view, false } };
	_cleanup_(diff_free_p) struct diff *diff = NULL;
	size_t n;
	const struct report_format *formats = report_formats(&n);

	assert_int_equal(diff_new(runs, opts, &diff), 0);
	for (size_t i = 0; i < n; i++)
		if (formats[i].write_diff && (diff_has_allocations(diff) || !formats[i].one_job))
			(void)formats[i].write_diff(diff, null); /* may refuse */
}

/* The reports of what was read, and its differences from the run as it was. */
static void write_all(struct reader *reader, const struct view *original, size_t job, bool checks)
{
	const struct report_opts opts = { .top = 2,
					  .job = job,
					  .older_than_ns = 1,
					  .most_calls = 10000,
					  .leaks = &reader->leaks,
					  .n_leaks = reader->leaks ? 1 : 0 };
	const struct view *view = fixture_view(&reader->fixture, &opts);

	write_view(view, reader->null);
	if (checks)
		check_texts(view);
	if (original)
		write_diff(view, original, &opts, reader->null);
}

struct run {
	struct payloads payloads;
	struct reader original;
	const struct view *view; /* of the original */
	bool *tried;		 /* types, of all runs; set behind the run that has them */
	FILE *null;
};

static void run_init(struct run *run, void (*emit)(record_fn fn, void *userdata))
{
	*run = (struct run){ .null = fopen("/dev/null", "we") };
	assert_non_null(run->null);
	emit(payloads_add, &run->payloads);
	reader_init(&run->original, run->null);
	for (size_t i = 0; i < run->payloads.n; i++)
		read_payload(&run->original, &run->payloads.list[i]);
	run->view = fixture_view(&run->original.fixture, NULL);
}

static void run_done(struct run *run)
{
	reader_done(&run->original);
	payloads_done(&run->payloads);
	fclose(run->null);
}

/* The run with another record for the one at `at`. */
static void try_record(const struct run *run, size_t at, const struct payload *other)
{
	struct reader reader;

	reader_init(&reader, run->null);
	for (size_t i = 0; i < run->payloads.n; i++)
		read_payload(&reader, i == at ? other : &run->payloads.list[i]);
	write_all(&reader, run->view, 0, false);
	reader_done(&reader);
}

static void try_fields(const struct run *run, size_t at, enum hostile how)
{
	struct payload other;

	for (size_t field = 0; hostile_field(&run->payloads.list[at], field, how, &other);
	     field++) {
		try_record(run, at, &other);
		strbuf_done(&other.bytes);
	}
}

/* In one of the runs that have it, or, in make check-long, in each of them. */
static bool is_tried(const struct run *run, uint32_t type)
{
	return run->tried[type] && !getenv("MEMTRACED_LONG");
}

/* The first of each type that the run has. */
static bool is_first(const struct run *run, size_t at)
{
	if (is_tried(run, run->payloads.list[at].type))
		return false;
	for (size_t i = 0; i < at; i++)
		if (run->payloads.list[i].type == run->payloads.list[at].type)
			return false;
	return true;
}

/* What the scenarios of tests/replay/ do not have. */
static void emit_others(record_fn fn, void *userdata)
{
	static const struct record_leak_sum sums[] = { { "definite", 2, 64 },
						       { "suppressed", 3, 4 } };
	static const struct record_leak_place places[] = { { 1, 1, 0 }, { 2, 1, 3 } };
	static const struct record_jit_line lines[] = { { 0, 3, "a.js" }, { 16, 4, NULL } };
	const struct script s = { fn, userdata };

	emit_run(&s);
	emit_function(&s, 1, "malloc", "/usr/lib/libc.so.6", 0x9a000);
	emit(&s, &(struct record){ .type = RECORD_DEPTH, .depth_change = { 1, 1, 2, 3, 4 } });
	emit_begin(&s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_map(&s, 0, 0x10000, 0x20000, 0x1000, 1000, "/opt/server", 11);
	emit_map(&s, 0, 0x30000, 0x40000, 0, 1000, "//anon", 0);
	emit(&s, &(struct record){ .type = RECORD_JIT_CODE,
				   .jit_code = { .start = 0x30000,
						 .size_bytes = 64,
						 .since_ns = 7,
						 .name = "add",
						 .source = "/tmp/perf-42.map",
						 .n_lines = 2,
						 .lines = lines } });
	emit_stack(&s, 1, 0, 2000, 0x10101, 0x30010);
	emit_stack(&s, 2, 0, 2000, 0x30020);
	emit_symbol(&s, "/opt/server", 11, 0x1101, { "parse", 1, "/src/p.c", 10, true },
		    { "load", 1, "/src/load.c", 20, false });
	emit_event(&s, 1, "sched:sched_switch");
	emit_occurrence(&s, (struct record_occurrence){ 1, { 0 }, 42, 1, 3000, 1, 0, "server", 0 });
	emit_cut(&s, 4000);
	emit_totals(&s, (struct record_totals){ .allocs = 30, .live_bytes = 100 });
	emit_site(&s, (struct record_site){ .fn = 1, .stack = 1, .live_bytes = 100, .allocs = 30 });
	emit_site(&s, (struct record_site){ .fn = 1, .stack = 2, .live_bytes = 9, .allocs = 3 });
	emit_event_count(&s,
			 (struct record_event_count){ 1, { 0 }, 1, 0, 41, 2000, 3000, 0, 0, 0, 0 });
	emit(&s, &(struct record){ .type = RECORD_OVERHEAD, .overhead = { 1, 2, 3, 4, 5, 6 } });
	emit(&s, &(struct record){ .type = RECORD_COST, .cost = { 1, 2, 3, 4, 5, 6, 7 } });
	emit_coverage(&s, true, 10, NULL, 0);
	emit_cut_end(&s);
	emit(&s, &(struct record){
			 .type = RECORD_LEAKS,
			 .leaks = { { 0 }, 1, 2, true, 4, 5, true, false, 2, sums, 2, places } });
	emit(&s, &(struct record){ .type = RECORD_LEAK_TEXT, .leak_text = { 42, "==42==\n" } });
	emit(&s, &(struct record){ .type = RECORD_SYMBOLS_UNREAD, .symbols_unread = { 7 } });
	emit_end(&s, 0, RECORD_END_EXIT, 0, 5000);
}

static void each_run(void (*try_run)(const struct run *run))
{
	size_t n;
	const struct scenario *all = scenarios(&n);
	bool tried[RECORD_TYPES] = { false };
	struct run run;

	for (size_t i = 0; i <= n; i++) {
		/* the same run with other options */
		if (i > 0 && i < n && all[i].emit == all[i - 1].emit)
			continue;
		run_init(&run, i < n ? all[i].emit : emit_others);
		run.tried = tried;
		try_run(&run);
		for (size_t at = 0; at < run.payloads.n; at++)
			tried[run.payloads.list[at].type] = true;
		run_done(&run);
	}
}

static void try_absent_strings(const struct run *run)
{
	for (size_t at = 0; at < run->payloads.n; at++)
		if (is_first(run, at))
			try_fields(run, at, HOSTILE_NONE);
}

static void strings_may_be_absent(void **state)
{
	(void)state;
	each_run(try_absent_strings);
}

static void try_other_fields(const struct run *run)
{
	for (size_t at = 0; at < run->payloads.n; at++)
		for (int how = HOSTILE_ZERO; is_first(run, at) && how < HOSTILE_KINDS; how++)
			try_fields(run, at, (enum hostile)how);
}

static void fields_may_have_any_value(void **state)
{
	(void)state;
	each_run(try_other_fields);
}

/* All of a type at once. */
static void try_fields_of_type(const struct run *run, uint32_t type, size_t field, enum hostile how)
{
	struct reader reader;

	reader_init(&reader, run->null);
	for (size_t i = 0; i < run->payloads.n; i++) {
		const struct payload *payload = &run->payloads.list[i];
		struct payload other = { 0 };

		if (payload->type == type && hostile_field(payload, field, how, &other))
			payload = &other;
		read_payload(&reader, payload);
		strbuf_done(&other.bytes);
	}
	write_all(&reader, run->view, 0, how == HOSTILE_LARGE);
	reader_done(&reader);
}

static void try_types(const struct run *run)
{
	for (uint32_t type = 1; type < RECORD_TYPES; type++) {
		const struct payload *first = NULL;
		struct payload other;

		for (size_t i = 0; i < run->payloads.n && !first; i++)
			if (run->payloads.list[i].type == type && !is_tried(run, type))
				first = &run->payloads.list[i];
		for (size_t field = 0; first && hostile_field(first, field, HOSTILE_ZERO, &other);
		     field++) {
			strbuf_done(&other.bytes);
			for (int how = 0; how < HOSTILE_KINDS; how++)
				try_fields_of_type(run, type, field, (enum hostile)how);
		}
	}
}

static void all_records_of_a_type_may_have_any_value(void **state)
{
	(void)state;
	each_run(try_types);
}

/* The run's records in another order, and as often as that says. */
static void try_order(const struct run *run, const size_t *order, size_t n)
{
	struct reader reader;

	reader_init(&reader, run->null);
	for (size_t i = 0; i < n; i++)
		read_payload(&reader, &run->payloads.list[order[i]]);
	write_all(&reader, run->view, 0, false);
	reader_done(&reader);
}

static void try_places(const struct run *run)
{
	size_t n = run->payloads.n, *order = calloc(n + 1, sizeof(*order));

	assert_non_null(order);
	for (size_t at = 0; at < n; at++) {
		size_t rest = 1;

		if (!is_first(run, at))
			continue;
		/* first, then there twice, then missing, then last */
		order[0] = at;
		for (size_t i = 0; i < n; i++)
			if (i != at)
				order[rest++] = i;
		try_order(run, order, n);
		for (size_t i = 0; i < n + 1; i++)
			order[i] = i <= at ? i : i - 1;
		try_order(run, order, n + 1);
		rest = 0;
		for (size_t i = 0; i < n; i++)
			if (i != at)
				order[rest++] = i;
		try_order(run, order, rest);
		order[rest] = at;
		try_order(run, order, n);
	}
	free(order);
}

static void records_may_be_missing_or_twice_or_elsewhere(void **state)
{
	(void)state;
	each_run(try_places);
}

/* Jobs are shown one by one, and there may be fewer than are asked for. */
static void try_jobs(const struct run *run)
{
	for (size_t job = 0; job < 4; job++) {
		struct reader reader;

		reader_init(&reader, run->null);
		for (size_t i = 0; i < run->payloads.n; i++)
			read_payload(&reader, &run->payloads.list[i]);
		write_all(&reader, run->view, job, false);
		reader_done(&reader);
	}
}

static void any_job_may_be_shown(void **state)
{
	(void)state;
	each_run(try_jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_job_may_be_shown),
		cmocka_unit_test(strings_may_be_absent),
		cmocka_unit_test(records_may_be_missing_or_twice_or_elsewhere),
		cmocka_unit_test(fields_may_have_any_value),
		cmocka_unit_test(all_records_of_a_type_may_have_any_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
