/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recorded runs in, the reports of every writer out, compared with tests/replay/golden/: run from
 * the top of the tree. `test_replay --write-golden` writes them anew, to be read before they are
 * believed. `test_replay --write-sites N FILE` writes a recording with so many sites.
 */
#include "report/diff/diff.h"
#include "report/text/text.h"
#include "tests/replay/diff_scenarios.h"
#include "tests/replay/many_sites.h"
#include "tests/replay/scenarios.h"
#include "tests/report_fixture.h"
#include "tests/unit/skip_because.h"
#include "trace/record/recording.h"

#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FOLDER "tests/replay/"
#define PYTHON "/usr/bin/python3"

extern char **environ;

/* A recording in memory, while it is written. */
struct tape {
	char *data;
	size_t len;
	FILE *file;
	struct recording_writer *writer;
};

static void tape_begin(struct tape *tape)
{
	*tape = (struct tape){ 0 };
	tape->file = open_memstream(&tape->data, &tape->len);
	assert_non_null(tape->file);
	assert_int_equal(recording_writer_new(tape->file, &tape->writer), 0);
}

static void tape_end(struct tape *tape, bool cut_off)
{
	if (!cut_off)
		assert_int_equal(recording_end(tape->writer), 0);
	recording_writer_free(tape->writer);
	assert_int_equal(fclose(tape->file), 0);
}

static void replay(const struct tape *tape, bool cut_off, struct fixture *f)
{
	_cleanup_fclose_ FILE *file = fmemopen(tape->data, tape->len, "r");
	_cleanup_(source_free_p) struct source *source = NULL;

	assert_non_null(file);
	assert_int_equal(recording_open(file, &source), 0);
	assert_int_equal(source_drain(source, fixture_apply, f), 1);
	assert_int_equal(recording_truncated(source), cut_off);
}

/* What a report is made of, once recorded and read again. */
static void replay_of(void (*emit)(record_fn fn, void *userdata), bool cut_off, struct fixture *f)
{
	struct tape tape;

	tape_begin(&tape);
	emit(recording_write, tape.writer);
	tape_end(&tape, cut_off);
	fixture_init(f);
	replay(&tape, cut_off, f);
	free(tape.data);
}

static void golden_path(const char *scenario, const char *format, char path[256])
{
	snprintf(path, 256, FOLDER "golden/%s.%s", scenario, format);
}

static char *read_file(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		fail_msg("%s: not there; run from the top of the tree", path);
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		return strdup("");
	}
	return text;
}

static void write_file(const char *path, const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
}

static void check(char **argv)
{
	pid_t pid;
	int status;

	assert_int_equal(posix_spawn(&pid, PYTHON, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("%s: see above", argv[1]);
}

/* Runs a checker on one file, or on itself. */
static void check_with(const char *script, const char *argument)
{
	char *argv[] = { (char *)PYTHON, (char *)script, (char *)argument, NULL };

	check(argv);
}

static void need_python(void)
{
	if (access(PYTHON, X_OK) < 0)
		skip_because("python3 is not there");
}

/* A report as its checker prints it, when nothing is wrong with it. */
static char *as_text(const char *format, const char *data, size_t len)
{
	_cleanup_free_ char *command = NULL;
	char script[64], *dash, path[] = "/tmp/test-replay-XXXXXX";
	char *text = NULL;
	size_t size = 0;
	FILE *file;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
	snprintf(script, sizeof(script), FOLDER "check_%s.py", format);
	dash = strchr(script, '-');
	if (dash)
		*dash = '_';
	assert_true(asprintf(&command, PYTHON " %s --text %s", script, path) > 0);
	file = popen(command, "re");
	assert_non_null(file);
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	assert_int_equal(pclose(file), 0);
	unlink(path);
	return text;
}

/* Not for people to read: what is binary, has a script in it, or a line for each call. */
static bool has_text(const struct report_format *format)
{
	return !format->binary && strcmp(format->name, "flamegraph") != 0 &&
	       strcmp(format->name, "html") != 0 && strcmp(format->name, "heaptrack") != 0;
}

/* As its golden file has it, or as its checker prints it. */
static char *report_text(struct fixture *f, const struct report_format *format,
			 const struct report_opts *opts)
{
	_cleanup_free_ char *text = fixture_report(f, format->name, opts);

	if (!has_text(format))
		return as_text(format->name, text, f->text_len);
	return TAKE_PTR(text);
}

static void compare(const char *path, const char *text, bool write_golden)
{
	_cleanup_free_ char *golden = NULL;

	if (write_golden) {
		write_file(path, text);
		return;
	}
	golden = read_file(path);
	if (strcmp(golden, text) != 0)
		fail_msg("%s differs; this came:\n%s", path, text);
}

static void each_report(bool write_golden)
{
	size_t n_scenarios, n_formats;
	const struct scenario *all = scenarios(&n_scenarios);
	const struct report_format *formats = report_formats(&n_formats);

	for (size_t i = 0; i < n_scenarios; i++) {
		struct fixture f;

		replay_of(all[i].emit, all[i].cut_off, &f);
		for (size_t j = 0; j < n_formats; j++) {
			_cleanup_free_ char *text = NULL;
			char path[256];

			text = report_text(&f, &formats[j], &all[i].opts);
			golden_path(all[i].name, formats[j].name, path);
			compare(path, text, write_golden);
		}
		fixture_done(&f);
	}
}

static void reports_are_as_the_golden_files_say(void **state)
{
	(void)state;
	need_python();
	each_report(false);
}

static char *diff_text(const struct diff *diff, const struct report_format *format)
{
	_cleanup_free_ char *data = NULL;
	size_t len;
	FILE *file = open_memstream(&data, &len);

	assert_non_null(file);
	assert_int_equal(format->write_diff(diff, file), 0);
	assert_int_equal(fclose(file), 0);
	if (format->binary || strcmp(format->name, "flamegraph") == 0)
		return as_text(format->name, data, len);
	return TAKE_PTR(data);
}

static struct diff *replayed_diff(const struct diff_scenario *scenario, struct report_opts opts,
				  struct fixture f[DIFF_SIDES])
{
	struct diff_run runs[DIFF_SIDES];
	struct diff *diff;

	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		replay_of(scenario->emit[side], false, &f[side]);
		runs[side].path = side == DIFF_BEFORE ? "before.rec" : "after.rec";
		runs[side].view = fixture_view(&f[side], &opts);
		runs[side].damaged = side == DIFF_AFTER && opts.sort == SORT_COUNT;
	}
	assert_int_equal(diff_new(runs, &opts, &diff), 0);
	return diff;
}

static void diff_of(const struct diff_scenario *scenario, bool write_golden)
{
	_cleanup_(diff_free_p) struct diff *diff = NULL;
	struct fixture f[DIFF_SIDES];
	size_t n_formats;
	const struct report_format *formats = report_formats(&n_formats);

	diff = replayed_diff(scenario, scenario->opts, f);
	for (size_t i = 0; i < n_formats; i++) {
		_cleanup_free_ char *text = NULL;
		char path[256];

		if (!formats[i].write_diff ||
		    (formats[i].diff_of_allocations && !diff_has_allocations(diff)))
			continue;
		text = diff_text(diff, &formats[i]);
		golden_path(scenario->name, formats[i].name, path);
		compare(path, text, write_golden);
	}
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		fixture_done(&f[side]);
}

static void each_diff(bool write_golden)
{
	size_t n;
	const struct diff_scenario *all = diff_scenarios(&n);

	for (size_t i = 0; i < n; i++)
		diff_of(&all[i], write_golden);
}

static void diffs_are_as_the_golden_files_say(void **state)
{
	(void)state;
	need_python();
	each_diff(false);
}

/* How many lines are wider, and could be broken; each is printed. */
static size_t too_wide(const char *scenario, char *text, unsigned int width)
{
	size_t n = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (text_columns(line) <= width || !strchr(line + strspn(line, " "), ' '))
			continue;
		print_error("%s, %u columns: %s\n", scenario, width, line);
		n++;
	}
	return n;
}

static size_t too_wide_of_report(const struct scenario *scenario, unsigned int width)
{
	_cleanup_free_ char *text = NULL;
	struct report_opts opts = scenario->opts;
	struct fixture f;

	opts.width = width;
	replay_of(scenario->emit, scenario->cut_off, &f);
	text = fixture_report(&f, "table", &opts);
	fixture_done(&f);
	return too_wide(scenario->name, text, width);
}

static size_t too_wide_of_diff(const struct diff_scenario *scenario, unsigned int width)
{
	_cleanup_(diff_free_p) struct diff *diff = NULL;
	_cleanup_free_ char *text = NULL;
	struct report_opts opts = scenario->opts;
	struct fixture f[DIFF_SIDES];
	size_t n_formats;

	opts.width = width;
	diff = replayed_diff(scenario, opts, f);
	text = diff_text(diff, report_formats(&n_formats));
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		fixture_done(&f[side]);
	return too_wide(scenario->name, text, width);
}

static void tables_fit_into_narrow_terminals(void **state)
{
	static const unsigned int widths[] = { 40, 60, 80 };
	size_t n_scenarios, n_diffs, n = 0;
	const struct scenario *all = scenarios(&n_scenarios);
	const struct diff_scenario *diffs = diff_scenarios(&n_diffs);

	(void)state;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		for (size_t j = 0; j < n_scenarios; j++)
			n += too_wide_of_report(&all[j], widths[i]);
		for (size_t j = 0; j < n_diffs; j++)
			n += too_wide_of_diff(&diffs[j], widths[i]);
	}
	assert_int_equal(n, 0);
}

static void golden_files_of_diffs_pass_the_grammar_checkers(void **state)
{
	size_t n;
	const struct diff_scenario *all = diff_scenarios(&n);

	(void)state;
	need_python();
	for (size_t i = 0; i < n; i++) {
		char path[256];

		golden_path(all[i].name, "folded", path);
		check_with(FOLDER "check_folded_diff.py", path);
	}
}

/* Symbols that a run looked up go into its recording; those of a replay are no fewer. */
static void recording_of_a_replay_gives_the_same_reports(void **state)
{
	size_t n;
	const struct scenario *all = scenarios(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *first = NULL, *second = NULL;
		struct tape tape, again;
		struct fixture f, g;

		tape_begin(&tape);
		all[i].emit(recording_write, tape.writer);
		tape_end(&tape, all[i].cut_off);
		fixture_init(&f);
		replay(&tape, all[i].cut_off, &f);
		first = fixture_report(&f, "perf-script", &all[i].opts);

		tape_begin(&again);
		all[i].emit(recording_write, again.writer);
		assert_int_equal(symbols_each_new(f.symbols, recording_write, again.writer), 0);
		tape_end(&again, all[i].cut_off);
		fixture_init(&g);
		replay(&again, all[i].cut_off, &g);
		second = fixture_report(&g, "perf-script", &all[i].opts);
		assert_string_equal(first, second);
		fixture_done(&f);
		fixture_done(&g);
		free(tape.data);
		free(again.data);
	}
}

static void grammar_checkers_find_each_trap(void **state)
{
	(void)state;
	need_python();
	check_with(FOLDER "check_perf_script.py", "--self-test");
	check_with(FOLDER "check_folded.py", "--self-test");
	check_with(FOLDER "check_folded_diff.py", "--self-test");
	check_with(FOLDER "check_gprof2dot.py", "--self-test");
	check_with(FOLDER "check_pprof.py", "--self-test");
	check_with(FOLDER "check_flamegraph.py", "--self-test");
	check_with(FOLDER "check_speedscope.py", "--self-test");
	check_with(FOLDER "check_callgrind.py", "--self-test");
	check_with(FOLDER "check_massif.py", "--self-test");
	check_with(FOLDER "check_html.py", "--self-test");
	check_with(FOLDER "check_heaptrack.py", "--self-test");
	check_with(FOLDER "check_perf_data.py", "--self-test");
	check_with(FOLDER "check_dhat.py", "--self-test");
}

/* Runs a checker on the golden files of all scenarios at once. */
static void check_golden(const char *script, const char *format)
{
	size_t n;
	const struct scenario *all = scenarios(&n);
	char **argv = calloc(n + 3, sizeof(*argv));

	assert_non_null(argv);
	argv[0] = strdup(PYTHON);
	argv[1] = strdup(script);
	for (size_t i = 0; i < n; i++) {
		char path[256];

		golden_path(all[i].name, format, path);
		argv[i + 2] = strdup(path);
	}
	check(argv);
	for (size_t i = 0; i < n + 2; i++)
		free(argv[i]);
	free(argv);
}

static void golden_files_pass_the_grammar_checkers(void **state)
{
	(void)state;
	need_python();
	check_golden(FOLDER "check_perf_script.py", "perf-script");
	check_golden(FOLDER "check_folded.py", "folded");
	check_golden(FOLDER "check_gprof2dot.py", "gprof2dot");
	check_golden(FOLDER "check_speedscope.py", "speedscope");
	check_golden(FOLDER "check_callgrind.py", "callgrind");
	check_golden(FOLDER "check_massif.py", "massif");
	check_golden(FOLDER "check_dhat.py", "dhat");
}

static void write_sites(const char *n_sites, const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");
	struct recording_writer *writer;

	assert_non_null(file);
	assert_int_equal(recording_writer_new(file, &writer), 0);
	many_sites_emit(strtoull(n_sites, NULL, 10), 2000, recording_write, writer);
	assert_int_equal(recording_end(writer), 0);
	recording_writer_free(writer);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_are_as_the_golden_files_say),
		cmocka_unit_test(diffs_are_as_the_golden_files_say),
		cmocka_unit_test(tables_fit_into_narrow_terminals),
		cmocka_unit_test(golden_files_of_diffs_pass_the_grammar_checkers),
		cmocka_unit_test(recording_of_a_replay_gives_the_same_reports),
		cmocka_unit_test(grammar_checkers_find_each_trap),
		cmocka_unit_test(golden_files_pass_the_grammar_checkers),
	};

	if (argc == 2 && strcmp(argv[1], "--write-golden") == 0) {
		each_report(true);
		each_diff(true);
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "--write-sites") == 0) {
		write_sites(argv[2], argv[3]);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
