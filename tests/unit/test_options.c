/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/options.h"

#include "config/option_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_ARGS 24

/* The words behind the program's name. */
struct args {
	const char *words[MAX_ARGS];
};
#define ARGS(...) ((struct args){ { __VA_ARGS__ } })

static int parse(struct args args, struct options **ret_options, struct strbuf *error)
{
	char *argv[MAX_ARGS + 2] = { "memtraced" };
	int argc = 1;

	for (; argc <= MAX_ARGS && args.words[argc - 1]; argc++)
		argv[argc] = (char *)args.words[argc - 1]; /* is not written to */
	return options_parse(argc, argv, ret_options, error);
}

static struct options *parse_ok(struct args args)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct options *o = NULL;

	if (parse(args, &o, &error) != 0)
		fail_msg("%s", strbuf_str(&error));
	assert_string_equal(strbuf_str(&error), "");
	return o;
}

static void assert_words(char *const *words, struct args expected)
{
	size_t n = 0;

	assert_non_null(words);
	for (; expected.words[n]; n++) {
		assert_non_null(words[n]);
		assert_string_equal(words[n], expected.words[n]);
	}
	assert_null(words[n]);
}

static void what_is_not_given_has_its_default(void **state)
{
	_cleanup_(options_free_p) struct options *o = parse_ok(ARGS("-p", "42"));

	(void)state;
	assert_int_equal(o->action, ACTION_TRACE);
	assert_int_equal(o->n_pids, 1);
	assert_int_equal(o->pids[0], 42);
	assert_null(o->command);
	assert_null(o->run_as);
	assert_null(o->env_set);
	assert_false(o->no_follow);
	assert_int_equal(o->interval_ns, 0);
	assert_int_equal(o->duration_ns, 0);
	assert_int_equal(o->sample_interval_ns, 100000000);
	assert_int_equal(o->growth_span_ns, 10000000000);
	assert_int_equal(o->block_filter.min_size, 0);
	assert_int_equal(o->block_filter.max_size, UINT64_MAX);
	assert_int_equal(o->older_than_ns, 0);
	assert_int_equal(o->existing_stop_ns, 0);
	assert_int_equal(o->memory_limit, 0);
	assert_int_equal(o->top, 10);
	assert_int_equal(o->massif.threshold, 100);
	assert_int_equal(o->massif.max_snapshots, 100);
	assert_int_equal(o->massif.time_unit, MASSIF_MS);
	assert_int_equal(o->sort, SORT_BYTES);
	assert_int_equal(o->n_outputs, 0);
	assert_int_equal(o->attach, ATTACH_AUTO);
	assert_int_equal(o->color, COLOR_AUTO);
	assert_int_equal(o->max_blocks, 0);
	assert_int_equal(o->max_stack, 511);
	assert_false(o->heap_errors);
	assert_false(o->floor);
	assert_int_equal(o->check_stacks, 0);
	assert_null(o->report_file);
	assert_false(o->verbose || o->quiet);
	assert_null(o->cgroup);
	assert_false(o->all || o->syscalls || o->stacks || o->alloc);
	assert_false(o->kernel_stacks || o->each);
	assert_int_equal(o->n_hists + o->n_events, 0);
	options_free(NULL);
}

static void what_draws_the_run_of_a_short_program_samples_finely(void **state)
{
	static const struct {
		const char *words[4];
		uint64_t ns;
	} cases[] = {
		{ { "-o", "massif:x" }, 10000000 },
		{ { "-o", "heaptrack:x" }, 10000000 },
		{ { "-o", "json:x" }, 100000000 },
		{ { "-o", "massif:x", "--sample-interval=0.2" }, 200000000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(options_free_p) struct options *o = NULL;
		const char *const *w = cases[i].words;

		o = parse_ok(ARGS("-p1", w[0], w[1], w[2] ? w[2] : "-q"));
		assert_int_equal(o->sample_interval_ns, cases[i].ns);
	}
}

static void every_option_sets_its_field(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;
	_cleanup_(options_free_p) struct options *filters = NULL;

	(void)state;
	o = parse_ok(ARGS("-i", "0.5", "-d10", "--run-as=nobody", "--env", "A=1", "--env=B=x=y",
			  "--no-follow", "--sample-interval=50ms", "--attach=perf",
			  "--max-blocks=1M", "--max-stack=3", "--unwind=fp", "--heap-errors",
			  "--floor", "--check-stacks=7", "--debuginfod", "-c", "ls -l"));
	assert_int_equal(o->interval_ns, 500000000);
	assert_int_equal(o->duration_ns, 10000000000);
	assert_int_equal(o->sample_interval_ns, 50000000);
	assert_int_equal(o->growth_span_ns, 0);
	assert_string_equal(o->run_as, "nobody");
	assert_words(o->env_set, ARGS("A=1", "B=x=y"));
	assert_true(o->no_follow);
	assert_true(o->debuginfod);
	assert_int_equal(o->attach, ATTACH_PERF);
	assert_int_equal(o->max_blocks, 1048576);
	assert_int_equal(o->max_stack, 3);
	assert_int_equal(o->unwind, UNWIND_FP);
	assert_true(o->heap_errors);
	assert_true(o->floor);
	assert_int_equal(o->check_stacks, 7);
	assert_words(o->command, ARGS("ls", "-l"));

	filters = parse_ok(ARGS("-p1", "--min-size", "64", "--max-size=1.5M", "--older-than=2m",
				"--top", "0", "--sort=temporary", "--color=never", "-v",
				"--threshold=0.5", "--max-snapshots=10", "--time-unit=B"));
	assert_int_equal(filters->massif.threshold, 50);
	assert_int_equal(filters->massif.max_snapshots, 10);
	assert_int_equal(filters->massif.time_unit, MASSIF_BYTES);
	assert_int_equal(filters->block_filter.min_size, 64);
	assert_int_equal(filters->block_filter.max_size, 1572864);
	assert_int_equal(filters->older_than_ns, 120000000000);
	assert_int_equal(filters->top, 0);
	assert_int_equal(filters->sort, SORT_TEMPORARY);
	assert_int_equal(filters->color, COLOR_NEVER);
	assert_true(filters->verbose);
}

static void existing_blocks_have_a_second(void **state)
{
	struct options *o = parse_ok(ARGS("-p1", "--existing"));

	(void)state;
	assert_int_equal(o->existing_stop_ns, 1000000000);
	options_free(o);
	o = parse_ok(ARGS("-p1", "--existing=250ms"));
	assert_int_equal(o->existing_stop_ns, 250000000);
	options_free(o);
}

static void a_value_that_may_be_left_out_is_never_the_next_word(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;

	(void)state;
	o = parse_ok(ARGS("--check-stacks", "-p", "1"));
	assert_int_equal(o->check_stacks, 10000);
	assert_int_equal(o->n_pids, 1);
}

static void each_name_of_a_choice_is_its_value(void **state)
{
	static const struct {
		const char *word;
		unsigned int attach, sort, color;
	} cases[] = {
		{ "--attach=auto", ATTACH_AUTO, SORT_BYTES, COLOR_AUTO },
		{ "--attach=session", ATTACH_SESSION, SORT_BYTES, COLOR_AUTO },
		{ "--attach=multi", ATTACH_MULTI, SORT_BYTES, COLOR_AUTO },
		{ "--attach=perf", ATTACH_PERF, SORT_BYTES, COLOR_AUTO },
		{ "--attach=exit", ATTACH_EXIT, SORT_BYTES, COLOR_AUTO },
		{ "--sort=bytes", ATTACH_AUTO, SORT_BYTES, COLOR_AUTO },
		{ "--sort=count", ATTACH_AUTO, SORT_COUNT, COLOR_AUTO },
		{ "--sort=growth", ATTACH_AUTO, SORT_GROWTH, COLOR_AUTO },
		{ "--sort=peak", ATTACH_AUTO, SORT_PEAK, COLOR_AUTO },
		{ "--color=auto", ATTACH_AUTO, SORT_BYTES, COLOR_AUTO },
		{ "--color=always", ATTACH_AUTO, SORT_BYTES, COLOR_ALWAYS },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(options_free_p) struct options *o = parse_ok(ARGS("-p1", cases[i].word));

		assert_int_equal(o->attach, cases[i].attach);
		assert_int_equal(o->sort, cases[i].sort);
		assert_int_equal(o->color, cases[i].color);
	}
}

static void pids_keep_their_order_and_lose_repeats(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;
	static const pid_t expected[] = { 30, 10, 20, INT32_MAX };

	(void)state;
	o = parse_ok(ARGS("-p30,10", "-p", " 10 20\n30\n", "-vp2147483647"));
	assert_int_equal(o->n_pids, N_ELEMENTS(expected));
	assert_memory_equal(o->pids, expected, sizeof(expected));
	assert_true(o->verbose);
}

static void processes_have_ids_in_any_form_or_names(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;
	static const pid_t expected[] = { 1, 2, 3 };

	(void)state;
	o = parse_ok(ARGS("-p", "1", "2", "-v", "3", "-pnginx, 9x"));
	assert_int_equal(o->n_pids, N_ELEMENTS(expected));
	assert_memory_equal(o->pids, expected, sizeof(expected));
	assert_int_equal(o->n_pid_names, 2);
	assert_string_equal(o->pid_names[0], "nginx");
	assert_string_equal(o->pid_names[1], "9x");
	assert_false(options_trace_widely(o));
}

static void outputs_are_the_format_first_and_then_the_files(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;

	(void)state;
	o = parse_ok(ARGS("-o", "json:a:b.json", "-ofolded:%p.txt", "-f", "table", "-p1"));
	assert_int_equal(o->n_outputs, 3);
	assert_string_equal(o->outputs[0].format, "table");
	assert_null(o->outputs[0].path);
	assert_string_equal(o->outputs[1].format, "json");
	assert_string_equal(o->outputs[1].path, "a:b.json");
	assert_string_equal(o->outputs[2].format, "folded");
	assert_string_equal(o->outputs[2].path, "%p.txt");
}

static void words_behind_two_dashes_are_the_command_untouched(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;

	(void)state;
	o = parse_ok(ARGS("-q", "--", "prog", "-p", "7", "--", "--help", "", "a b", "report"));
	assert_words(o->command, ARGS("prog", "-p", "7", "--", "--help", "", "a b", "report"));
	assert_int_equal(o->n_pids, 0);
	assert_int_equal(o->action, ACTION_TRACE);
}

static void the_last_of_a_repeated_setting_holds(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;

	(void)state;
	o = parse_ok(ARGS("--top=3", "--run-as", "a", "--top", "4", "--run-as", "b", "-cls"));
	assert_int_equal(o->top, 4);
	assert_string_equal(o->run_as, "b");
}

static void report_takes_a_file_and_the_options_of_a_report(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;

	(void)state;
	o = parse_ok(ARGS("-q", "report", "--top=5", "run.mtr", "-fjson", "-o", "html:x.html",
			  "--sort", "peak", "--older-than=2", "--color=always"));
	assert_int_equal(o->action, ACTION_REPORT);
	assert_string_equal(o->report_file, "run.mtr");
	assert_int_equal(o->top, 5);
	assert_int_equal(o->n_outputs, 2);
	assert_int_equal(o->sort, SORT_PEAK);
	assert_int_equal(o->older_than_ns, 2000000000);
}

static void actions_need_no_target(void **state)
{
	static const struct {
		struct args args;
		enum option_action action;
	} cases[] = {
		{ { { "--help" } }, ACTION_HELP },
		{ { { "-h" } }, ACTION_HELP },
		{ { { "-vh" } }, ACTION_HELP },
		{ { { "report", "-h" } }, ACTION_HELP },
		{ { { "--version" } }, ACTION_VERSION },
		{ { { "-V", "--unknown", "x" } }, ACTION_VERSION },
		{ { { "-p1", "--help", "-p" } }, ACTION_HELP },
		{ { { "--features" } }, ACTION_FEATURES },
		{ { { "--features", "--verbose" } }, ACTION_FEATURES },
		{ { { "--service", "-v", "--config=/x" } }, ACTION_SERVICE },
		{ { { "ctl", "status" } }, ACTION_CTL },
		{ { { "ctl", "trace", "--help" } }, ACTION_HELP },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(options_free_p) struct options *o = parse_ok(cases[i].args);

		assert_int_equal(o->action, cases[i].action);
	}
}

struct error_case {
	struct args args;
	const char *error;
};

static void check_errors(const struct error_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct options *o = NULL;

		if (parse(cases[i].args, &o, &error) != -EINVAL)
			fail_msg("is not refused: %s", cases[i].error);
		assert_null(o);
		assert_string_equal(strbuf_str(&error), cases[i].error);
	}
}

static void what_is_asked_of_a_service_is_taken_apart(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;
	_cleanup_(options_free_p) struct options *reports = NULL;
	_cleanup_(options_free_p) struct options *token = NULL;
	_cleanup_(options_free_p) struct options *revoke = NULL;

	(void)state;
	o = parse_ok(ARGS("ctl", "--socket=/s", "trace", "7", "--for", "2m", "--format=json",
			  "--sample"));
	assert_int_equal(o->ctl.verb, CTL_TRACE);
	assert_int_equal(o->ctl.pid, 7);
	assert_int_equal(o->ctl.for_ns, 120000000000);
	assert_string_equal(o->ctl.format, "json");
	assert_int_equal(o->ctl.depth, HEAP_SAMPLED);
	assert_string_equal(o->ctl.socket, "/s");
	reports = parse_ok(ARGS("ctl", "reports", "x"));
	assert_int_equal(reports->ctl.verb, CTL_REPORTS);
	assert_string_equal(reports->ctl.name, "x");
	assert_null(reports->ctl.socket);
	token = parse_ok(ARGS("ctl", "token", "--for=1h"));
	assert_int_equal(token->ctl.verb, CTL_TOKEN);
	assert_int_equal(token->ctl.for_ns, 3600000000000);
	assert_false(token->ctl.revoke);
	revoke = parse_ok(ARGS("ctl", "token", "--revoke"));
	assert_true(revoke->ctl.revoke);
	assert_int_equal(revoke->ctl.for_ns, 0);
}

static void unknown_options_are_refused_with_the_nearest_name(void **state)
{
	static const struct error_case cases[] = {
		{ { { "--tpo=3" } }, "unknown option '--tpo'; did you mean '--top'?" },
		{ { { "--min_size", "3" } },
		  "unknown option '--min_size'; did you mean '--min-size'?" },
		{ { { "--colour=never" } }, "unknown option '--colour'; did you mean '--color'?" },
		{ { { "--older", "3" } },
		  "unknown option '--older'; did you mean '--older-than'?" },
		{ { { "-top", "3" } }, "unknown option '-top'; did you mean '--top'?" },
		{ { { "--max" } }, "unknown option '--max'; see 'memtraced --help all'" },
		{ { { "--p=1" } }, "unknown option '--p'; see 'memtraced --help all'" },
		{ { { "--=1" } }, "unknown option '--'; see 'memtraced --help all'" },
		{ { { "-x" } }, "unknown option '-x'; see 'memtraced --help all'" },
		{ { { "-vxq" } }, "unknown option '-x'; see 'memtraced --help all'" },
		{ { { "-v-1" } }, "unknown option '--'; see 'memtraced --help all'" },
	};

	(void)state;
	check_errors(cases, N_ELEMENTS(cases));
}

static void wrong_values_are_refused_with_what_to_give(void **state)
{
	static const struct error_case cases[] = {
		{ { { "-p" } }, "'--pid' needs a value behind it; see 'memtraced --help --pid'" },
		{ { { "-p1", "--top" } },
		  "'--top' needs a value behind it; see 'memtraced --help --top'" },
		{ { { "-p", ", " } },
		  "'--pid' has no process: give process ids, or the name of one" },
		{ { { "-p", "0" } },
		  "invalid --pid '0': expected process ids, or the name of a process" },
		{ { { "-p", "-1" } },
		  "invalid --pid '-1': expected process ids, or the name of a process" },
		{ { { "-p", "2147483648" } },
		  "invalid --pid '2147483648': expected process ids, or the name of a process" },
		{ { { "-p1", "-i", "0" } }, "invalid -i '0': expected more than 0" },
		{ { { "-p1", "-d0.0s" } }, "invalid -d '0.0s': expected more than 0" },
		{ { { "-p1", "-i", "soon" } },
		  "invalid -i 'soon': expected seconds, or a number with ms, s, m, h or d "
		  "behind it" },
		{ { { "-p1", "--older-than=99999999999" } },
		  "'99999999999' is too large for '--older-than'" },
		{ { { "-p1", "--max-overhead=5" } },
		  "invalid --max-overhead '5': the percent sign is missing; give 5%" },
		{ { { "-p1", "--threshold=100.01" } },
		  "invalid --threshold '100.01': expected percent from 0 to 100, with two "
		  "decimals at most" },
		{ { { "-p1", "--threshold=1." } },
		  "invalid --threshold '1.': expected percent from 0 to 100, with two "
		  "decimals at most" },
		{ { { "-p1", "--max-snapshots=9" } },
		  "invalid --max-snapshots '9': expected 10 to 1000" },
		{ { { "-p1", "--time-unit=i" } },
		  "invalid --time-unit 'i' here, since instructions are not counted: "
		  "give ms or B" },
		{ { { "-p1", "--time-unit=s" } },
		  "invalid --time-unit 's': expected one of ms, B" },
		{ { { "-p1", "--detailed-freq=5" } },
		  "'--detailed-freq' is not there: each tenth snapshot is detailed, and those of "
		  "the peak and the end: leave it out" },
		{ { { "-p1", "--min-size=1.5" } },
		  "invalid --min-size '1.5': expected a number, or one with k, M, G or T "
		  "behind it" },
		{ { { "-p1", "--max-size=16777216T" } },
		  "'16777216T' is too large for '--max-size'" },
		{ { { "-p1", "--max-blocks=0" } },
		  "invalid --max-blocks '0': expected 1 to 4294967295" },
		{ { { "-p1", "--max-blocks=4G" } },
		  "invalid --max-blocks '4G': expected 1 to 4294967295" },
		{ { { "--existing", "-c", "ls" } },
		  "'--existing' applies to running processes: name one with -p" },
		{ { { "-p1", "--memory-limit=95M" } },
		  "invalid --memory-limit '95M': expected 96M or more" },
		{ { { "-p1", "--memory-limit=1G", "--max-blocks=1M" } },
		  "'--memory-limit' and '--max-blocks' exclude each other: the limit says how many "
		  "blocks there is room for" },
		{ { { "-p1", "--existing=0" } }, "invalid --existing '0': expected more than 0" },
		{ { { "-p1", "--existing", "--hist", "read" } },
		  "'--existing' applies to allocations, which other jobs turn off: leave it out, "
		  "or "
		  "give --alloc too" },
		{ { { "-p1", "--max-stack=512" } },
		  "invalid --max-stack '512': expected 0 to 511" },
		{ { { "-p1", "--max-stack=-1" } }, "invalid --max-stack '-1': expected 0 to 511" },
		{ { { "-p1", "--max-stack", "" } }, "invalid --max-stack '': expected 0 to 511" },
		{ { { "-p1", "--check-stacks", "--max-stack=0" } },
		  "'--check-stacks' applies to stacks, and '--max-stack=0' leaves none: leave one "
		  "out" },
		{ { { "-p1", "--check-stacks=0" } },
		  "invalid --check-stacks '0': expected 1 to 4294967295" },
		{ { { "-p1", "--check-stacks=" } },
		  "invalid --check-stacks '': expected 1 to 4294967295" },
		{ { { "-p1", "--top=1k" } }, "invalid --top '1k': expected a number, 0 for all" },
		{ { { "-p1", "--top=" } }, "invalid --top '': expected a number, 0 for all" },
		{ { { "-p1", "--sort=size" } },
		  "invalid --sort 'size': expected one of "
		  "bytes, count, growth, peak, temporary" },
		{ { { "-p1", "--color=yes" } },
		  "invalid --color 'yes': expected one of auto, always, never" },
		{ { { "-p1", "--quiet=no" } }, "'--quiet' takes no value: leave out '=no'" },
		{ { { "--env", "=x", "-cls" } }, "invalid --env '=x': expected NAME=VALUE" },
		{ { { "--env", "X", "-cls" } }, "invalid --env 'X': expected NAME=VALUE" },
		{ { { "--run-as=", "-cls" } }, "'--run-as' needs a user's name or uid" },
		{ { { "-c", "ls '" } },
		  "invalid command of '-c': it is empty, or its end lacks a quote or what a "
		  "backslash escapes; quote it as for a shell" },
		{ { { "-c", "''" } }, "the command's first word is empty: give a program" },
		{ { { "--", "", "x" } }, "the command's first word is empty: give a program" },
	};

	(void)state;
	check_errors(cases, N_ELEMENTS(cases));
}

static void wrong_outputs_are_refused_with_what_to_give(void **state)
{
	static const struct error_case cases[] = {
		{ { { "-p1", "-f", "json:x" } },
		  "'-f' writes to standard output and takes no path: "
		  "give '-o json:x' for a file" },
		{ { { "-p1", "-f", "" } }, "invalid -f '': expected a format such as json" },
		{ { { "-p1", "-f", "-o" } }, "invalid -f '-o': expected a format such as json" },
		{ { { "-p1", "-fjson", "-f", "table" } }, "'-f' is given twice: give it once" },
		{ { { "-p1", "-o", "json" } },
		  "invalid -o 'json': expected FORMAT:PATH, such as json:out.json" },
		{ { { "-p1", "-ojson:" } },
		  "invalid -o 'json:': expected FORMAT:PATH, such as json:out.json" },
		{ { { "-p1", "-o:x" } },
		  "invalid -o ':x': expected FORMAT:PATH, such as json:out.json" },
		{ { { "-p1", "-ojson:-" } },
		  "'-o' writes to a file: give '-f json' for standard output" },
		{ { { "-p1", "-orecord:-" } }, "a recording needs a file: give '-o record:PATH'" },
		{ { { "-p1", "-ojson:%p%%%q" } },
		  "'-o' knows no '%q' in a path: give %p for the process id, or %% for a percent "
		  "sign" },
		{ { { "-p1", "-ojson:100%" } },
		  "'-o' knows no '%' in a path: give %p for the process id, or %% for a percent "
		  "sign" },
		{ { { "-p1", "-ojson:x", "-ohtml:x" } },
		  "two outputs go to 'x': give each its own path" },
	};

	(void)state;
	check_errors(cases, N_ELEMENTS(cases));
}

static void what_is_asked_of_a_service_wrongly_is_refused(void **state)
{
	static const struct error_case cases[] = {
		{ { { "ctl" } }, "'ctl': expected status, trace PID, reports or token" },
		{ { { "ctl", "statsu" } }, "'ctl' does not know 'statsu'; did you mean 'status'?" },
		{ { { "ctl", "trace" } }, "'ctl trace' needs a process id" },
		{ { { "ctl", "trace", "x" } }, "invalid process id 'x' of 'ctl trace'" },
		{ { { "ctl", "trace", "0" } }, "invalid process id '0' of 'ctl trace'" },
		{ { { "ctl", "trace", "1", "2" } }, "unexpected argument '2' behind 'ctl trace'" },
		{ { { "ctl", "trace", "1", "--for=0" } },
		  "invalid --for '0': expected whole seconds, or a number with s, m or h "
		  "behind it" },
		{ { { "ctl", "trace", "1", "--for=100ms" } },
		  "invalid --for '100ms': expected whole seconds, or a number with s, m or h "
		  "behind it" },
		{ { { "ctl", "trace", "1", "--for" } },
		  "'--for' needs a value behind it; see 'memtraced --help ctl'" },
		{ { { "ctl", "status", "--for=1" } },
		  "'--for' is for 'ctl trace' and 'ctl token'" },
		{ { { "ctl", "token", "--format=json" } },
		  "'--format' and '--sample' are for 'ctl trace'" },
		{ { { "ctl", "status", "--revoke" } },
		  "'--revoke' is for 'ctl token', without '--for'" },
		{ { { "ctl", "token", "--revoke", "--for=1h" } },
		  "'--revoke' is for 'ctl token', without '--for'" },
		{ { { "ctl", "token", "7" } }, "unexpected argument '7' behind 'ctl token'" },
		{ { { "ctl", "trace", "1", "--sample=64k" } },
		  "'--sample' takes no value: leave out '=64k'" },
		{ { { "ctl", "reports", "--sample" } },
		  "'--format' and '--sample' are for 'ctl trace'" },
		{ { { "ctl", "status", "--top=1" } },
		  "unknown option '--top'; 'ctl' has --for, --format, --sample, --revoke, "
		  "--socket, --help" },
	};

	(void)state;
	check_errors(cases, N_ELEMENTS(cases));
}

static void conflicts_are_refused_with_what_to_do(void **state)
{
	static const struct error_case cases[] = {
		{ { { NULL } },
		  "nothing to trace: give a process with -p, a command with -c or "
		  "behind --, a cgroup with --cgroup, or -a for the whole host" },
		{ { { "-v", "-fjson" } },
		  "nothing to trace: give a process with -p, a command with -c or "
		  "behind --, a cgroup with --cgroup, or -a for the whole host" },
		{ { { "-p1", "-c", "ls" } },
		  "'-p' and a command exclude each other: trace either "
		  "running processes or a new one" },
		{ { { "-p1", "--", "ls" } },
		  "'-p' and a command exclude each other: trace either "
		  "running processes or a new one" },
		{ { { "-c", "ls", "--", "ls" } },
		  "'-c' and '--' both give a command: leave one out" },
		{ { { "-c", "ls", "-c", "ls" } }, "'-c' is given twice: give it once" },
		{ { { "-v", "--" } }, "no command behind '--'" },
		{ { { "-p1", "-qv" } },
		  "'--verbose' and '--quiet' exclude each other: leave one out" },
		{ { { "-p1", "--min-size=2k", "--max-size=1k" } },
		  "no block matches: --min-size 2048 is more than --max-size 1024" },
		{ { { "-p1", "--run-as=nobody" } },
		  "'--run-as' is for a command that memtraced starts: give one with -c or behind "
		  "--" },
		{ { { "-p1", "--env=A=1" } },
		  "'--env' is for a command that memtraced starts: "
		  "give one with -c or behind --" },
		{ { { "--features", "-p1" } },
		  "'--features' traces nothing: leave out the process or command" },
		{ { { "--features", "--", "ls" } },
		  "'--features' traces nothing: leave out the process or command" },
		{ { { "--service", "-p1" } },
		  "'--pid' has no meaning for '--service', which traces what it is asked for: "
		  "leave it out" },
		{ { { "--service", "--", "ls" } },
		  "'--' has no meaning for '--service', which traces what it is asked for: leave "
		  "it out" },
		{ { { "--config=/x", "-p1" } },
		  "'--config' is for the service: give --service, too" },
		{ { { "--service", "--config=" } }, "'--config' needs the path of a file" },
		{ { { "report" } }, "'report' needs a file: memtraced report FILE" },
		{ { { "report", "a", "b" } }, "unexpected argument 'b': 'report' reads one file" },
		{ { { "report", "a", "-p1" } },
		  "'--pid' has no meaning for 'report': leave it out" },
		{ { { "-i1", "report", "a" } }, "'-i' has no meaning for 'report': leave it out" },
		/* A recording has the sums of sites, not the size of each block. */
		{ { { "report", "a", "--min-size=1M" } },
		  "'--min-size' has no meaning for 'report': leave it out" },
		{ { { "report", "a", "--max-size=1" } },
		  "'--max-size' has no meaning for 'report': leave it out" },
		{ { { "report", "a", "--features" } },
		  "'--features' has no meaning for 'report': leave it out" },
		{ { { "report", "a", "--", "ls" } }, "'report' starts no command: leave out '--'" },
	};

	(void)state;
	check_errors(cases, N_ELEMENTS(cases));
}

static void the_table_has_no_name_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_keys.n; i++) {
		assert_true(option_keys.keys[i].name[0] == '-');
		for (size_t k = 0; k < i; k++) {
			const struct key *a = &option_keys.keys[i], *b = &option_keys.keys[k];

			assert_string_not_equal(a->name, b->name);
			assert_false(a->letter &&
				     (a->letter == b->letter || a->letter == b->name[1]));
			assert_false(b->letter && b->letter == a->name[1]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_given_has_its_default),
		cmocka_unit_test(existing_blocks_have_a_second),
		cmocka_unit_test(what_draws_the_run_of_a_short_program_samples_finely),
		cmocka_unit_test(every_option_sets_its_field),
		cmocka_unit_test(a_value_that_may_be_left_out_is_never_the_next_word),
		cmocka_unit_test(each_name_of_a_choice_is_its_value),
		cmocka_unit_test(pids_keep_their_order_and_lose_repeats),
		cmocka_unit_test(processes_have_ids_in_any_form_or_names),
		cmocka_unit_test(outputs_are_the_format_first_and_then_the_files),
		cmocka_unit_test(words_behind_two_dashes_are_the_command_untouched),
		cmocka_unit_test(the_last_of_a_repeated_setting_holds),
		cmocka_unit_test(report_takes_a_file_and_the_options_of_a_report),
		cmocka_unit_test(actions_need_no_target),
		cmocka_unit_test(what_is_asked_of_a_service_is_taken_apart),
		cmocka_unit_test(unknown_options_are_refused_with_the_nearest_name),
		cmocka_unit_test(wrong_values_are_refused_with_what_to_give),
		cmocka_unit_test(wrong_outputs_are_refused_with_what_to_give),
		cmocka_unit_test(what_is_asked_of_a_service_wrongly_is_refused),
		cmocka_unit_test(conflicts_are_refused_with_what_to_do),
		cmocka_unit_test(the_table_has_no_name_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
