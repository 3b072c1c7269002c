/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of recordings to files, and what is written as it happens. */
#include "model/model.h"
#include "service/commands.h"
#include "service/output/jobs.h"
#include "service/output/outputs.h"
#include "tests/record_script.h"
#include "trace/record/recording.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
	char folder[32];
	char recording[64];
};

static int set_up(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return -1;
	strcpy(run->folder, "/tmp/memtraced-XXXXXX");
	if (!mkdtemp(run->folder))
		return -1;
	snprintf(run->recording, sizeof(run->recording), "%s/.recording", run->folder);
	*state = run;
	return 0;
}

static int tear_down(void **state)
{
	struct run *run = *state;
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", run->folder);
	if (system(command) != 0)
		return -1;
	free(run);
	return 0;
}

/* What a recording says; n_events of the names below. */
static const char *const names[] = { "getrandom", "sched:sched_switch", "../../evil e", "" };

static void emit_all(const struct script *s, bool no_allocations, size_t n_events,
		     void (*extra)(const struct script *s))
{
	emit_run_with(s, no_allocations);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_function(s, 1, "malloc", "/lib/libc.so.6", 0x2500);
	emit_stack(s, 71, 0, 1000, 0x10123);
	for (uint32_t i = 0; i < n_events; i++)
		emit_event(s, i, names[i]);
	if (extra)
		extra(s);
	emit_cut(s, 9000);
	if (!no_allocations)
		emit_site(s, (struct record_site){
				     .fn = 1, .stack = 71, .live_bytes = 100, .live_blocks = 1 });
	for (uint32_t i = 0; i < n_events; i++)
		emit_event_count(s, (struct record_event_count){
					    i, { 0 }, 71, 0, 10 + i, 1, 2, 0, 0, 0, 0 });
	emit_cut_end(s);
}

static void add_region(const struct script *s)
{
	emit_function(s, 2, "mmap", "", 0);
	emit_region(s, 0, 0x70000000, 0x70001000, 2, 71, 2000);
}

/* `extra` comes before the cut; NULL: nothing does. */
static void record_with(const struct run *run, bool no_allocations, size_t n_events,
			void (*extra)(const struct script *s))
{
	_cleanup_fclose_ FILE *file = fopen(run->recording, "w");
	struct recording_writer *writer;
	struct script script;

	assert_non_null(file);
	assert_int_equal(recording_writer_new(file, &writer), 0);
	script = (struct script){ recording_write, writer };
	emit_all(&script, no_allocations, n_events, extra);
	assert_int_equal(recording_end(writer), 0);
	recording_writer_free(writer);
}

static void record(const struct run *run, bool no_allocations, size_t n_events)
{
	record_with(run, no_allocations, n_events, NULL);
}

static struct options *parse(char *const *argv)
{
	_cleanup_strbuf_ struct strbuf error = {};
	struct options *options = NULL;
	int argc = 0;

	while (argv[argc])
		argc++;
	if (options_parse(argc, argv, &options, &error) != 0)
		fail_msg("%s", strbuf_str(&error));
	return options;
}

/* FORMAT:NAME with NAME in the run's folder. */
static int report_to(const struct run *run, const char *format, const char *name)
{
	_cleanup_(options_free_p) struct options *options = NULL;
	char output[128];
	int status;
	pid_t pid;
	char *argv[] = { "memtraced", "report", (char *)run->recording, "-q", "-o", output, NULL };

	snprintf(output, sizeof(output), "%s:%s/%s", format, run->folder, name);
	options = parse(argv);
	/* In a process of its own, which gives up its rights. */
	pid = fork();
	if (pid == 0)
		_exit(-replay_report(options));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

/* The text of a file of the folder, malloc'ed; NULL when it is not there. */
static char *read_back(const struct run *run, const char *name)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[128], *text = NULL;
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/%s", run->folder, name);
	file = fopen(path, "r");
	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0 && text)
		text[0] = '\0';
	return text;
}

static void assert_has(const struct run *run, const char *name, const char *part)
{
	_cleanup_free_ char *text = read_back(run, name);

	assert_non_null(text);
	if (!strstr(text, part))
		fail_msg("%s has no '%s':\n%s", name, part, text);
}

static size_t count_files(const struct run *run)
{
	_cleanup_closedir_ DIR *dir = opendir(run->folder);
	const struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	return n;
}

static void assert_text(const struct run *run, const char *name, const char *expected)
{
	_cleanup_free_ char *text = read_back(run, name);

	assert_non_null(text);
	assert_string_equal(text, expected);
}

static void each_job_gets_a_file_of_its_name(void **state)
{
	const struct run *run = *state;

	record(run, false, 4);
	assert_int_equal(report_to(run, "folded", "%e.%p%%e"), 0);
	assert_int_equal(count_files(run), 5);
	assert_text(run, "alloc.0%e", "server-42;[unknown];malloc 100\n");
	assert_text(run, "getrandom.0%e", "server-42;[unknown] 10\n");
	assert_text(run, "sched-sched_switch.0%e", "server-42;[unknown] 11\n");
	assert_text(run, "------evil-e.0%e", "server-42;[unknown] 12\n");
	assert_text(run, "event.0%e", "server-42;[unknown] 13\n");
}

/* What a heap holds and what is mapped are never one number: an event may be named as either. */
static void mappings_are_no_part_of_the_heap(void **state)
{
	const struct run *run = *state;

	record_with(run, false, 1, add_region);
	assert_int_equal(report_to(run, "folded", "%e"), 0);
	assert_text(run, "alloc", "server-42;[unknown];malloc 100\n");
	assert_text(run, "mmap", "server-42;[unknown];mmap 4096\n");
	record_with(run, false, 0, add_region);
	assert_int_equal(report_to(run, "folded", "out"), 0);
	assert_text(run, "out", "server-42;[unknown];malloc 100\n");
	/* further types come before those that are shown first */
	assert_int_equal(report_to(run, "callgrind", "graph"), 0);
	assert_has(run, "graph",
		   "\nevents: Live LiveBlocks Peak Allocated Allocs Temporary Mapped "
		   "Regions MappedPeak MappedInAll Mappings\n"
		   "summary: 100 1 0 0 0 0 4096 1 4096 4096 1\n");
	assert_int_equal(report_to(run, "perf-script", "script"), 0);
	assert_has(run, "script", " 100 memtraced-live-bytes: \n");
	assert_has(run, "script", "not of mappings\n");
	assert_int_equal(report_to(run, "gprof2dot", "dot"), 0);
	assert_has(run, "dot", "\"description\":\"Heap\"");
	assert_has(run, "dot", "\"cost\":[100]}],");
	assert_int_equal(report_to(run, "flamegraph", "%e.svg"), 0);
	assert_has(run, "alloc.svg", "Heap of server (pid 42)");
	assert_has(run, "mmap.svg", "Mapped memory of server (pid 42)");
}

static void jobs_of_one_name_get_files_of_their_own(void **state)
{
	static const char *const expected[] = { "a-b", "a-b.2", "alloc", "a-b.3", "event" };
	_cleanup_(model_free_p) struct model *model = NULL;
	struct script s;

	(void)state;
	assert_int_equal(model_new(&model), 0);
	s = (struct script){ model_apply, model };
	emit_run_with(&s, true);
	emit_event(&s, 1, "a:b");
	emit_event(&s, 2, "a-b");
	emit_event(&s, 3, "alloc");
	emit_event(&s, 4, "a/b");
	emit_event(&s, 5, "");
	assert_int_equal(jobs_count(model), 5);
	assert_int_equal(jobs_of_event(model, 3), 2);
	for (size_t i = 0; i < 5; i++) {
		_cleanup_strbuf_ struct strbuf name = {};

		jobs_name(model, i, &name);
		assert_string_equal(strbuf_str(&name), expected[i]);
	}
}

static void a_format_of_one_job_needs_a_file_for_each(void **state)
{
	static const struct {
		bool no_allocations;
		size_t n_events;
		const char *format, *path;
		bool expected;
	} cases[] = {
		{ false, 0, "folded", "out", true },	  { false, 1, "folded", "out", false },
		{ false, 1, "folded", "out.%%e", false }, { false, 1, "folded", "out.%e", true },
		{ true, 0, "folded", "out", false },	  { true, 0, "gprof2dot", "%e", false },
		{ true, 0, "table", "out", true },	  { true, 0, "json", "out", true },
		{ true, 1, "folded", "out", true },	  { true, 1, "folded", "%e", true },
		{ true, 2, "perf-script", "out", false }, { true, 2, "perf-script", "%e", true },
		{ true, 2, "json", "out", true },	  { true, 2, "json", "%e", false },
		{ true, 2, "table", "%p%%e", true },
	};
	const struct run *run = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r;

		record(run, cases[i].no_allocations, cases[i].n_events);
		r = report_to(run, cases[i].format, cases[i].path);
		if (r != (cases[i].expected ? 0 : -EINVAL))
			fail_msg("case %zu: %d", i, r);
	}
}

static void emit_heap(const struct script *s, uint32_t slot, uint32_t pid, uint64_t allocs)
{
	emit_begin(s, slot, pid, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000 + slot, "server");
	emit_cut(s, 9000 + slot);
	emit_totals(s, (struct record_totals){ .image = { slot }, .allocs = allocs });
	emit_cut_end(s);
}

static void a_format_of_one_process_needs_a_file_for_each(void **state)
{
	static const struct {
		uint64_t allocs[2];
		const char *path;
		int expected;
		const char *files[2];
	} cases[] = {
		{ { 1, 0 }, "one", 0, { "one" } },
		{ { 0, 1 }, "other.%p", 0, { "other.43" } },
		{ { 1, 1 }, "both", -ENOTUNIQ, { 0 } },
		{ { 1, 1 }, "both.%%p", -ENOTUNIQ, { 0 } },
		{ { 1, 1 }, "both.%p", 0, { "both.42", "both.43" } },
		{ { 0, 0 }, "none", 0, { "none" } },
	};
	const struct run *run = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct recording_writer *writer;
		struct script s;
		FILE *file = fopen(run->recording, "w");
		size_t n = count_files(run), n_expected = 0;

		assert_non_null(file);
		assert_int_equal(recording_writer_new(file, &writer), 0);
		s = (struct script){ recording_write, writer };
		emit_run(&s);
		emit_heap(&s, 0, 42, cases[i].allocs[0]);
		emit_heap(&s, 1, 43, cases[i].allocs[1]);
		assert_int_equal(recording_end(writer), 0);
		recording_writer_free(writer);
		assert_int_equal(fclose(file), 0);
		assert_int_equal(report_to(run, "massif", cases[i].path), cases[i].expected);
		for (; n_expected < 2 && cases[i].files[n_expected]; n_expected++) {
			_cleanup_free_ char *text = read_back(run, cases[i].files[n_expected]);

			if (!text || strncmp(text, "desc: ", 6) != 0)
				fail_msg("case %zu: %s", i, cases[i].files[n_expected]);
		}
		assert_int_equal(count_files(run), n + n_expected);
	}
	record(run, true, 1);
	assert_int_equal(report_to(run, "massif", "nothing"), -EINVAL);
}

/* What the command line asks for is checked before anything runs. */
static void wrong_use_is_known_before_the_run(void **state)
{
	static const struct {
		const char *const argv[12];
		bool expected;
	} cases[] = {
		{ { "memtraced", "-p1", "-f", "folded" }, true },
		{ { "memtraced", "-p1", "-e", "read", "-f", "folded" }, true },
		{ { "memtraced", "-p1", "-e", "read", "-e", "write", "-f", "folded" }, false },
		{ { "memtraced", "-p1", "-e", "read", "--alloc", "-f", "folded" }, false },
		{ { "memtraced", "-p1", "-e", "read", "--alloc", "-f", "json" }, true },
		{ { "memtraced", "-p1", "--hist", "read", "-f", "perf-script" }, false },
		{ { "memtraced", "-p1", "--hist", "read", "-f", "table" }, true },
		{ { "memtraced", "-p1", "-e", "a:b", "-e", "read", "-o", "folded:/tmp/%e" }, true },
		{ { "memtraced", "-p1", "-e", "read", "-o", "record:/tmp/%e" }, false },
		{ { "memtraced", "-p1", "-f", "massif" }, true },
		{ { "memtraced", "-p1", "-e", "read", "-f", "massif" }, false },
		{ { "memtraced", "-p1", "-e", "read", "--alloc", "-f", "massif" }, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(options_free_p) struct options *options =
			parse((char *const *)cases[i].argv);
		_cleanup_(outputs_free_p) struct outputs *outputs = NULL;
		_cleanup_(model_free_p) struct model *model = NULL;
		int r;

		assert_int_equal(model_new(&model), 0);
		r = outputs_new(options, model, false, NULL, &outputs);
		if (r != (cases[i].expected ? 0 : -EINVAL))
			fail_msg("case %zu: %d", i, r);
	}
}

struct live {
	struct model *model;
	struct outputs *outputs;
};

static int take_live(const struct record *record, void *userdata)
{
	struct live *live = userdata;
	int r = model_apply(record, live->model);

	return r ? r : outputs_add_record(live->outputs, record);
}

static void with_each_a_file_holds_the_events_as_they_happened(void **state)
{
	const struct run *run = *state;
	char output[96];
	char *argv[] = { "memtraced", "-p1",	"-e", "getrandom", "-e", "sched:sched_switch",
			 "--alloc",   "--each", "-o", output,	   NULL };
	_cleanup_(options_free_p) struct options *options = NULL;
	_cleanup_(outputs_free_p) struct outputs *outputs = NULL;
	_cleanup_(model_free_p) struct model *model = NULL;
	struct live live;
	struct script s = { take_live, &live };

	snprintf(output, sizeof(output), "perf-script:%s/%%e", run->folder);
	options = parse(argv);
	assert_int_equal(model_new(&model), 0);
	assert_int_equal(outputs_new(options, model, false, NULL, &outputs), 0);
	live = (struct live){ model, outputs };
	assert_int_equal(outputs_begin(outputs, 42), 0);
	emit_all(&s, false, 2, NULL);
	emit_occurrence(
		&s, (struct record_occurrence){ 0, { 0 }, 43, 1, 5000000001, 71, 0, "thread", 0 });
	emit_occurrence(&s,
			(struct record_occurrence){ 1, { 0 }, 42, 0, 5000000002, 71, 0, NULL, 0 });
	assert_int_equal(outputs_flush(outputs), 0);
	assert_int_equal(outputs_write(outputs, false), 0);
	assert_null(read_back(run, "getrandom"));
	assert_int_equal(outputs_write(outputs, true), 0);

	assert_int_equal(count_files(run), 3);
	assert_text(run, "getrandom",
		    "thread 42/43 [001]     5.000000001: 1 getrandom: \n"
		    "\t           10123 [unknown] ([unknown])\n\n");
	assert_text(run, "sched-sched_switch",
		    "server 42/42 [000]     5.000000002: 1 sched_switch: \n"
		    "\t           10123 [unknown] ([unknown])\n\n");
	_cleanup_free_ char *alloc = read_back(run, "alloc");

	assert_non_null(alloc);
	assert_non_null(strstr(alloc, " 100 memtraced-live-bytes: \n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_job_gets_a_file_of_its_name),
		TEST(mappings_are_no_part_of_the_heap),
		TEST(jobs_of_one_name_get_files_of_their_own),
		TEST(a_format_of_one_job_needs_a_file_for_each),
		TEST(a_format_of_one_process_needs_a_file_for_each),
		TEST(wrong_use_is_known_before_the_run),
		TEST(with_each_a_file_holds_the_events_as_they_happened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
