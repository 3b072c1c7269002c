/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of jobs and wide targets: how they go together. */
#include "config/options.h"
#include "config/words.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* `line` is what stands behind the program's name, without quotes that nest. */
static int parse(const char *line, struct options **ret_options, struct strbuf *error)
{
	_cleanup_strbuf_ struct strbuf whole = { 0 };
	char **argv = NULL;
	int argc = 0, r;

	strbuf_addf(&whole, "memtraced %s", line);
	assert_int_equal(words_split(strbuf_str(&whole), &argv), 0);
	while (argv[argc])
		argc++;
	r = options_parse(argc, argv, ret_options, error);
	words_free(argv);
	return r;
}

static struct options *parse_ok(const char *line)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct options *o = NULL;

	if (parse(line, &o, &error) != 0)
		fail_msg("%s: %s", line, strbuf_str(&error));
	return o;
}

static void jobs_and_what_belongs_to_them_set_their_fields(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;

	(void)state;
	o = parse_ok(
		"-a --hist read:count,by=comm --hist=sched:sched_switch:prev_prio -e getrandom "
		"-esched:sched_switch --kernel --each --syscalls --stacks -f perf-script");
	assert_true(o->all && o->kernel_stacks && o->each && o->syscalls && o->stacks);
	assert_false(o->alloc);
	assert_null(o->cgroup);
	assert_int_equal(o->n_hists, 2);
	assert_int_equal(o->hists[0].what, HIST_SYSCALL_ARG);
	assert_int_equal(o->hists[0].by, HIST_BY_COMM);
	assert_string_equal(o->hists[1].category, "sched");
	assert_int_equal(o->n_events, 2);
	assert_string_equal(o->events[0].name, "sys_enter_getrandom");
	assert_string_equal(o->events[1].name, "sched_switch");
}

static void the_clock_of_a_cpu_is_an_event(void **state)
{
	static const struct {
		const char *line;
		uint32_t hz;
	} cases[] = { { "-p1 --cpu -esched:sched_switch", 99 },
		      { "-p1 --cpu=1 -esched:sched_switch", 1 },
		      { "-p1 --cpu=10000 --kernel -e sched:sched_switch", 10000 } };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(options_free_p) struct options *o = parse_ok(cases[i].line);

		assert_int_equal(o->n_events, 2);
		assert_int_equal(o->events[0].hz, cases[i].hz);
		assert_string_equal(o->events[0].name, "cpu-clock");
		assert_int_equal(o->events[1].hz, 0);
		assert_false(options_trace_allocations(o));
	}
}

static void waits_are_an_event(void **state)
{
	_cleanup_(options_free_p) struct options *o =
		parse_ok("-p1 --off-cpu --cpu --each -fperf-script");

	(void)state;
	assert_int_equal(o->n_events, 2);
	assert_int_equal(o->events[0].kind, EVENT_WAIT);
	assert_int_equal(o->events[1].kind, EVENT_SAMPLE);
	assert_string_equal(o->events[0].name, "off-cpu");
}

static void page_faults_are_an_event(void **state)
{
	static const struct {
		const char *line;
		uint32_t period;
	} cases[] = { { "-a --page-faults", 0 }, { "-a --page-faults=1 --kernel", 1 } };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(options_free_p) struct options *o = parse_ok(cases[i].line);

		assert_int_equal(o->n_events, 1);
		assert_int_equal(o->events[0].kind, EVENT_FAULTS);
		assert_int_equal(o->events[0].period, cases[i].period);
		assert_string_equal(o->events[0].name, "page-faults");
		assert_false(options_trace_allocations(o));
	}
}

static void a_cgroup_is_a_target(void **state)
{
	_cleanup_(options_free_p) struct options *o = NULL;

	(void)state;
	o = parse_ok("--cgroup=/sys/fs/cgroup/system.slice --syscalls");
	assert_string_equal(o->cgroup, "/sys/fs/cgroup/system.slice");
	assert_false(o->all);
}

static void users_and_names_choose_of_any_target(void **state)
{
	static const struct {
		const char *line;
		bool wide;
	} cases[] = {
		{ "-a", true },
		{ "--uid=7", true },
		{ "--comm=a*", true },
		{ "--cgroup=/x --uid=7 --comm=a --comm=b", true },
		{ "-a --alloc --syscalls --comm=a", true },
		{ "-a --hist malloc", true },
		{ "-p1 --comm=a", false },
		{ "--uid=7 -c ls", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(options_free_p) struct options *o = parse_ok(cases[i].line);

		if (options_trace_widely(o) != cases[i].wide)
			fail_msg("%s: wide %d", cases[i].line, !cases[i].wide);
	}
}

static void other_jobs_turn_allocations_off_unless_they_are_asked_for(void **state)
{
	static const struct {
		const char *line;
		bool allocations;
	} cases[] = {
		{ "-p1", true },
		{ "-p1 --alloc", true },
		{ "-p1 --hist read", false },
		{ "-p1 --hist malloc", false },
		{ "-p1 -e read", false },
		{ "-p1 --syscalls", false },
		{ "-p1 --hist read -e read --syscalls --alloc", true },
		{ "-p1 --syscalls --alloc --min-size=1k --older-than=1 --sort=peak "
		  "--max-blocks=1k --attach=perf",
		  true },
		{ "-p1 --hist malloc --attach=perf --top=3", false },
		{ "-p1 -e read --each -o perf-script:x", false },
		{ "-p1 --page-faults --sample-interval=1 --no-rss", false },
		{ "-a --mappings --sample-interval=1 --no-rss", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(options_free_p) struct options *o = parse_ok(cases[i].line);

		if (options_trace_allocations(o) != cases[i].allocations)
			fail_msg("%s: allocations %d", cases[i].line, !cases[i].allocations);
	}
}

#define OFF "' applies to allocations, which other jobs turn off: leave it out, or give --alloc too"
#define NO_MEMORY                                                                                  \
	"' applies to allocations, which other jobs turn off: leave it out, or give --alloc or "   \
	"--mappings too"
#define NO_GROWTH                                                                                  \
	"' applies to allocations, which other jobs turn off: leave it out, or give --alloc, "     \
	"--mappings or --page-faults too"

static void stacks_of_events_can_be_grouped(void **state)
{
	static const char *const lines[] = {
		"-p1 --cpu --group-by=function",     "-p1 --off-cpu --group-by=object",
		"-p1 --page-faults --group-by=line", "-p1 -e read --group-by=process",
		"-p1 --cpu --alloc --group-by=size", "-p1 --hist read --group-by=site"
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(lines); i++)
		options_free(parse_ok(lines[i]));
}

static void what_does_not_go_together_is_refused_with_what_to_do(void **state)
{
	static const struct {
		const char *line, *error;
	} cases[] = {
		{ "-a --cgroup x --syscalls", "'--cgroup' and '-a' exclude each other: trace "
					      "either a cgroup or the whole host" },
		{ "-a -p1 --syscalls", "'-a' and '-p' exclude each other: give one of them" },
		{ "-a --syscalls -c ls",
		  "'-a' and a command exclude each other: give one of them" },
		{ "--cgroup x -p1 --syscalls",
		  "'--cgroup' and '-p' exclude each other: give one of them" },
		{ "-a --max-overhead=5% --sample",
		  "'--max-overhead' has no samples but of -p and of a command: leave out "
		  "'--sample'" },
		{ "--cgroup x --syscalls -- ls",
		  "'--cgroup' and a command exclude each other: give one of them" },
		{ "--cgroup x --cgroup y", "'--cgroup' is given twice: give it once" },
		{ "--cgroup=", "'--cgroup' needs the path of a cgroup" },
		{ "--syscalls", "nothing to trace: give a process with -p, a command with -c or "
				"behind --, a cgroup with --cgroup, or -a for the whole host" },
		{ "-a --syscalls --no-follow", "'--no-follow' applies to -p and to a command "
					       "only: leave it out" },
		{ "--comm x --no-follow", "'--no-follow' applies to -p and to a command "
					  "only: leave it out" },
		{ "--uid=", "'--uid' needs a user's name or uid" },
		{ "--uid=0 --uid=1", "'--uid' is given twice: give it once" },
		{ "--comm=", "invalid --comm '': expected a name or a pattern such as "
			     "'cc1*'" },
		{ "--comm=[a", "invalid --comm '[a': it leaves a bracket open or ends in "
			       "a backslash" },
		{ "-a --syscalls --env=A=1", "'--env' is for a command that memtraced starts: "
					     "give one with -c or behind --" },
		{ "-a --features",
		  "'--features' traces nothing: leave out the process or command" },
		{ "-p1 --kernel",
		  "'--kernel' applies to events: name one with -e, or give --cpu, --off-cpu or "
		  "--page-faults" },
		{ "-p1 --each --syscalls",
		  "'--each' applies to events: name one with -e, or give --cpu, --off-cpu or "
		  "--page-faults" },
		{ "-p1 --stacks -e read",
		  "'--stacks' applies to system calls: give --syscalls too" },
		{ "-p1 --mappings --alloc",
		  "'--mappings' is not needed: mappings are counted where "
		  "allocations are; leave it out" },
		{ "-p1 --page-faults --where=class=mmap", "'--where" NO_MEMORY },
		{ "-p1 -e read --each -o json:x",
		  "'--each' needs a format that has a line for each event: give -f perf-script "
		  "or -o perf-script:PATH" },
		{ "-p1 --syscalls --min-size=1", "'--min-size" OFF },
		{ "-p1 --hist malloc --max-size=1", "'--max-size" OFF },
		{ "-p1 -e read --older-than=1", "'--older-than" NO_MEMORY },
		{ "-p1 --cpu --group-by=size",
		  "'--group-by' applies to allocations, which other jobs turn off, and by "
		  "function, "
		  "line, file, object and process to stacks of events: leave it out" },
		{ "-p1 --syscalls --group-by=function",
		  "'--group-by' applies to allocations, which other jobs turn off, and by "
		  "function, "
		  "line, file, object and process to stacks of events: leave it out" },
		{ "-p1 --syscalls --wrapper=get*",
		  "'--wrapper' applies to allocations, which other jobs turn off, and to stacks "
		  "of events: leave it out" },
		{ "-p1 -e read --sort=count", "'--sort" NO_MEMORY },
		{ "-p1 --sample --sort=temporary",
		  "'--sort=temporary' applies to all calls of allocators, of which '--sample' sees "
		  "some: leave one out" },
		{ "-p1 -e read --max-blocks=1", "'--max-blocks" OFF },
		{ "-p1 -e read --sample-interval=1", "'--sample-interval" NO_GROWTH },
		{ "-p1 --cpu --no-rss", "'--no-rss" NO_GROWTH },
		{ "-p1 -e read --hist write --attach=multi", "'--attach" OFF },
		{ "-p1 --hist read --hist read", "'--hist read' is given twice: give it once" },
		{ "-p1 -e read -e sys_enter_read",
		  "'-e read' and '-e sys_enter_read' are one event: give it once" },
		{ "-p1 --cpu --cpu=5", "'--cpu' is given twice: give it once" },
		{ "-p1 --off-cpu --off-cpu", "'--off-cpu' is given twice: give it once" },
		{ "-p1 --off-cpu --each -f perf-script",
		  "'--each' applies to events of -e and --cpu: waits are summed" },
		{ "-p1 --page-faults=0",
		  "invalid --page-faults '0': expected 1 for each fault, or up to 1000000000 "
		  "for one in so many" },
		{ "-p1 --cpu=0", "invalid --cpu '0': expected 1 to 10000 samples a second" },
		{ "-p1 --hist read,by=x", "'by=x' of '--hist' is unknown: give by=comm or by=pid" },
		{ "report x --syscalls", "'--syscalls' has no meaning for 'report': leave it out" },
		{ "report x -a", "'-a' has no meaning for 'report': leave it out" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct options *o = NULL;

		if (parse(cases[i].line, &o, &error) != -EINVAL)
			fail_msg("is not refused: %s", cases[i].line);
		assert_string_equal(strbuf_str(&error), cases[i].error);
	}
}

/* It begins with all calls there, and page faults are not counted until they are left. */
static void a_limit_of_a_host_has_no_samples(void **state)
{
	static const char *const lines[] = { "-a --max-overhead=20%",
					     "--cgroup x --max-overhead=20%",
					     "--uid 0 --max-overhead=20%",
					     "--comm x --max-overhead=20%" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		_cleanup_(options_free_p) struct options *o = parse_ok(lines[i]);

		assert_int_equal(o->max_overhead, 2000);
		assert_true(o->overhead_exact_first);
		assert_true(options_trace_allocations(o));
		assert_int_equal(o->sample_bytes, 0);
		assert_int_equal(o->n_events, 0);
	}
}

static void what_running_processes_pay_is_limited_unless_something_needs_all_calls(void **state)
{
	static const struct {
		const char *line;
		uint64_t most;
		bool is_default;
	} cases[] = {
		{ "-p 1", OPTIONS_OVERHEAD, true },
		{ "-p 1 -i 5 -f pprof --min-size=4k", OPTIONS_OVERHEAD, true },
		{ "-p 1 --cpu --alloc", OPTIONS_OVERHEAD, true },
		{ "-p 1 --max-overhead=5%", 500, false },
		{ "-p 1 --max-overhead=none", 0, false },
		{ "-p 1 --max-overhead=5% --max-overhead=none", 0, false },
		{ "-p 1 --leak-check=full", 0, false },
		{ "-p 1 --existing", 0, false },
		{ "-p 1 --heap-errors", 0, false },
		{ "-p 1 --free-stacks", 0, false },
		{ "-p 1 --sort=temporary", 0, false },
		{ "-p 1 --floor", 0, false },
		{ "-p 1 --allocator=malloc=pool_get", 0, false },
		{ "-p 1 --sample", 0, false },
		{ "-p 1 --hist=malloc", 0, false },
		{ "-p 1 --cpu", 0, false },
		{ "-p 1 --page-faults", 0, false },
		{ "-a", OPTIONS_OVERHEAD, true },
		{ "--cgroup=/x", OPTIONS_OVERHEAD, true },
		{ "--uid=0", OPTIONS_OVERHEAD, true },
		{ "--comm=x", OPTIONS_OVERHEAD, true },
		{ "-a --max-overhead=none", 0, false },
		{ "-a --sample", 0, false },
		{ "-- true", 0, false },
		{ "--comm=x -- true", 0, false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(options_free_p) struct options *o = parse_ok(cases[i].line);

		options_limit_overhead(o);
		if (o->max_overhead != cases[i].most ||
		    o->overhead_exact_first != cases[i].is_default)
			fail_msg("%s: %d", cases[i].line, (int)o->max_overhead);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_running_processes_pay_is_limited_unless_something_needs_all_calls),
		cmocka_unit_test(a_limit_of_a_host_has_no_samples),
		cmocka_unit_test(jobs_and_what_belongs_to_them_set_their_fields),
		cmocka_unit_test(the_clock_of_a_cpu_is_an_event),
		cmocka_unit_test(waits_are_an_event),
		cmocka_unit_test(page_faults_are_an_event),
		cmocka_unit_test(a_cgroup_is_a_target),
		cmocka_unit_test(users_and_names_choose_of_any_target),
		cmocka_unit_test(other_jobs_turn_allocations_off_unless_they_are_asked_for),
		cmocka_unit_test(stacks_of_events_can_be_grouped),
		cmocka_unit_test(what_does_not_go_together_is_refused_with_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
