/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/option_table.h"
#include "config/service_config.h"

#include <assert.h>

static const char *const group_by_names[] = {
	[GROUP_BY_SITE] = "site",     [GROUP_BY_FUNCTION] = "function",
	[GROUP_BY_LINE] = "line",     [GROUP_BY_FILE] = "file",
	[GROUP_BY_OBJECT] = "object", [GROUP_BY_PROCESS] = "process",
	[GROUP_BY_CLASS] = "class",   [GROUP_BY_GROWTH] = "growth",
	[GROUP_BY_LEAK] = "leak",     [GROUP_BY_SIZE] = "size",
	[GROUP_BY_AGE] = "age",	      NULL,
};

const char *group_by_name(enum group_by by)
{
	return group_by_names[by];
}

static const char *const sort_names[] = {
	[SORT_BYTES] = "bytes", [SORT_COUNT] = "count",		[SORT_GROWTH] = "growth",
	[SORT_PEAK] = "peak",	[SORT_TEMPORARY] = "temporary", NULL,
};

static const char *const widths_names[] = {
	[WIDTHS_AFTER] = "after",
	[WIDTHS_BEFORE] = "before",
	NULL,
};

static const char *const attach_names[] = {
	[ATTACH_AUTO] = "auto", [ATTACH_SESSION] = "session", [ATTACH_MULTI] = "multi",
	[ATTACH_PERF] = "perf", [ATTACH_EXIT] = "exit",	      NULL,
};

static const char *const unwind_names[] = { [UNWIND_CFI] = "cfi", [UNWIND_FP] = "fp", NULL };

static const char *const exact_names[] = {
	[EXACT_AUTO] = "auto",
	[EXACT_PROBES] = "probes",
	[EXACT_LIBRARY] = "library",
	NULL,
};

static const char *const color_names[] = {
	[COLOR_AUTO] = "auto",
	[COLOR_ALWAYS] = "always",
	[COLOR_NEVER] = "never",
	NULL,
};

static const char *const leak_check_names[] = {
	[LEAK_CHECK_NO] = "no",
	[LEAK_CHECK_SUMMARY] = "summary",
	[LEAK_CHECK_FULL] = "full",
	[LEAK_CHECK_YES] = "yes",
	NULL,
};

static const char *const resolution_names[] = {
	[LEAK_RESOLUTION_LOW] = "low",
	[LEAK_RESOLUTION_MED] = "med",
	[LEAK_RESOLUTION_HIGH] = "high",
	NULL,
};

static const char *const generate_names[] = {
	[LEAK_GENERATE_NO] = "no",
	[LEAK_GENERATE_YES] = "yes",
	[LEAK_GENERATE_ALL] = "all",
	NULL,
};

static const char *const default_suppressions_names[] = {
	[LEAK_DEFAULT_SUPPRESSIONS] = "yes",
	[LEAK_NO_DEFAULT_SUPPRESSIONS] = "no",
	NULL,
};

static const char *const no_yes[] = { "no", "yes", NULL };
static const char *const kind_names[] = { "definite", "indirect", "possible", "reachable", NULL };
static const char *const heuristic_names[] = { "stdstring", "length64", "newarray",
					       "multipleinheritance", NULL };

static const char *const time_unit_names[] = {
	[MASSIF_MS] = "ms",
	[MASSIF_BYTES] = "B",
	NULL,
};

/* The titles of `--help all`, in whose order the rows stand. */
static const char targets[] = "What to trace", jobs[] = "Jobs (default: allocations)",
		  leaks[] = "Leak check", child[] = "How to start and follow",
		  times[] = "When to report", filters[] = "What to show",
		  output[] = "Where to write", tracing[] = "How to trace", service[] = "Service",
		  other[] = "Other";

const struct option_topic option_topics[] = {
	{ "targets", targets, 0, NULL },
	{ "jobs", jobs, 0, NULL },
	{ "leaks", leaks, 0, NULL },
	{ "start", child, 0, NULL },
	{ "times", times, 0, NULL },
	{ "filters", filters, 0, NULL },
	{ "output", output, 0, NULL },
	{ "tracing", tracing, 0, NULL },
	{ "service", service, 0, NULL },
	{ "other", other, 0, NULL },
	{ "report", "Show a recording", OPTION_FOR_REPORT, NULL },
	{ "diff", "Compare two recordings", OPTION_FOR_DIFF, NULL },
	{ "ctl", "Ask a running service", 0, &ctl_keys },
	{ "sample", "Make a service show samples", 0, &sample_keys },
	{ "valgrind", "Valgrind's command line", 0, &valgrind_keys },
	{ OPTION_TOPIC_FORMATS, "Formats of -f and -o", 0, NULL },
	{ OPTION_TOPIC_STATUS, "Exit status", 0, NULL },
	{ OPTION_TOPIC_ALL, "All of it", 0, NULL },
	{ NULL, NULL, 0, NULL },
};

#define FIELD(name) KEY_FIELD(struct options, name)

/* clang-format off */
static const struct key options[] = {
	{ targets, "--pid", KEY_OWN, OPTION_TARGET, .letter = 'p', .apply = option_pids,
	  .metavar = "PID|NAME",
	  .help = "Trace this running process, and its descendants (but see --no-follow). Several "
		  "ids may stand in it, with commas, blanks or lines between. May be repeated." },
	{ targets, "-c", KEY_OWN, OPTION_TARGET | OPTION_ONCE, .apply = option_command,
	  .metavar = "'CMD ARGS'",
	  .help = "Start this command and trace it from its first instruction, as 'memtraced "
		  "CMD ARGS' and 'memtraced -- CMD ARGS' do. Quotes and backslashes work as in "
		  "a shell; nothing is expanded." },
	{ targets, "--cgroup", KEY_TEXT, OPTION_TARGET | OPTION_ONCE, FIELD(cgroup),
	  .expected = "the path of a cgroup", .metavar = "PATH",
	  .help = "Trace the processes of this cgroup (v2) and of those below it." },
	{ targets, "-a", KEY_FLAG, OPTION_TARGET, FIELD(all),
	  .help = "Trace all processes of the host but memtraced." },
	{ targets, "--uid", KEY_TEXT, OPTION_TARGET | OPTION_ONCE, FIELD(uid),
	  .expected = "a user's name or uid", .metavar = "USER",
	  .help = "Only processes of this user (name or uid), of the host if no other target "
		  "is given." },
	{ targets, "--comm", KEY_OWN, OPTION_TARGET, .apply = option_comm, .metavar = "GLOB",
	  .help = "Only processes with such a name, as in 'cc1*'; with a command or -p, all "
		  "are followed and these are counted. May be repeated." },

	{ jobs, "--hist", KEY_OWN, 0, .apply = option_hist, .metavar = "SPEC",
	  .help = "Show a histogram of results, arguments, times or sizes. May be repeated." },
	{ jobs, "-e", KEY_OWN, 0, .apply = option_event, .metavar = "EVENT",
	  .help = "Show the stacks that lead to this event. May be repeated." },
	{ jobs, "--cpu", KEY_OWN, OPTION_MAY | OPTION_ONCE, .apply = option_cpu, .implied = "99",
	  .expected = "1 to 10000 samples a second", .metavar = "HZ",
	  .help = "Show the stacks that run, sampled HZ times a second; default: 99." },
	{ jobs, "--off-cpu", KEY_FLAG, OPTION_ONCE, .apply = option_off_cpu,
	  .help = "Show the stacks that wait, and how long." },
	{ jobs, "--page-faults", KEY_OWN, OPTION_MAY | OPTION_ONCE, .apply = option_page_faults,
	  .expected = "1 for each fault, or up to 1000000000 for one in so many",
	  .metavar = "N",
	  .help = "Show the stacks by which memory grows: samples one in N page faults; default: "
		  "N follows their rate." },
	{ jobs, "--mappings", KEY_FLAG, 0, FIELD(mappings),
	  .help = "Show which code mapped the memory that is still mapped (mmap, mremap, brk); "
		  "without probes." },
	{ jobs, "--kernel", KEY_FLAG, OPTION_EVENT, FIELD(kernel_stacks),
	  .help = "With events of all kinds: the frames within the kernel as well." },
	{ jobs, "--each", KEY_FLAG, OPTION_EVENT, FIELD(each),
	  .help = "With all but --off-cpu: each event by itself, with its time, as "
		  "perf-script." },
	{ jobs, "--syscalls", KEY_FLAG, 0, FIELD(syscalls),
	  .help = "Show how often each system call is made, its errors, times and bytes, and the "
		  "files." },
	{ jobs, "--stacks", KEY_FLAG, 0, FIELD(stacks),
	  .help = "With --syscalls: the stacks that make the calls." },
	{ jobs, "--alloc", KEY_FLAG, 0, FIELD(alloc),
	  .help = "Trace allocations beside these jobs, too." },
	{ jobs, "--sample", KEY_SIZE, OPTION_ALLOC | OPTION_MAY, FIELD(sample_bytes), .least = 1,
	  .most = OPTIONS_SAMPLE_MOST, .implied = "512k", .metavar = "BYTES",
	  .help = "Count samples instead of all calls, at a fraction of the cost: those that "
		  "programs show by otel_memory probes, for -c one in BYTES; default: 512k." },
	{ jobs, "--max-overhead", KEY_SHARE, OPTION_ALLOC, FIELD(max_overhead), .least = 1,
	  .most = 10000, .apply = option_overhead, .metavar = "P%",
	  .expected = "one from 0.01% to 100%, or none for no limit",
	  .help = "Count all calls while that costs at most P% of the program's CPU time, "
		  "otherwise samples, or only page faults. The report says what was counted "
		  "when. none: count all calls, whatever it costs; default with -p: 20%." },

	{ leaks, "--leak-check", KEY_CHOICE, OPTION_ALLOC, FIELD(leak.mode),
	  .choices = leak_check_names,
	  .help = "Show which blocks a process has lost, in the format of Valgrind's memcheck: "
		  "when it ends or executes another program, by SIGUSR1 to memtraced, with -i, "
		  "and at the end of a trace. yes: full." },
	{ leaks, "--show-leak-kinds", KEY_SET, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.show_kinds),
	  .choices = kind_names, .fallback = "definite,possible", .metavar = "KINDS",
	  .help = "Which are shown in full: all, none, or some of "
		  "definite,indirect,possible,reachable; default: definite,possible." },
	{ leaks, "--errors-for-leak-kinds", KEY_SET, OPTION_ALLOC | OPTION_LEAK,
	  FIELD(leak.error_kinds), .choices = kind_names, .fallback = "definite,possible",
	  .metavar = "KINDS",
	  .help = "Which are errors; default: definite,possible." },
	{ leaks, "--leak-resolution", KEY_CHOICE, OPTION_ALLOC | OPTION_LEAK,
	  FIELD(leak.resolution), .choices = resolution_names, .fallback = "high",
	  .help = "How many callers tell places apart: low, 2; med, 4; high, all; default: "
		  "high." },
	{ leaks, "--leak-check-heuristics", KEY_SET, OPTION_ALLOC | OPTION_LEAK,
	  FIELD(leak.heuristics), .choices = heuristic_names, .fallback = "all",
	  .metavar = "SET",
	  .help = "Pointers into blocks that count as ones to their start: all, none, or some "
		  "of stdstring,length64,newarray,multipleinheritance; default: all." },
	{ leaks, "--num-callers", KEY_NUMBER, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.num_callers),
	  .least = 1, .most = OPTIONS_MAX_STACK, .fallback = "12", .metavar = "N",
	  .help = "Callers of a stack that are shown and tell places apart; default: 12." },
	{ leaks, "--suppressions", KEY_LIST, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.suppressions),
	  .expected = "a file", .metavar = "FILE",
	  .help = "Leave out what this file names, in Valgrind's syntax. May be repeated." },
	{ leaks, "--default-suppressions", KEY_CHOICE, OPTION_ALLOC | OPTION_LEAK,
	  FIELD(leak.default_suppressions), .choices = default_suppressions_names,
	  .fallback = "yes",
	  .help = "Leave out what libc, ld.so and libstdc++ hold by design; default: yes." },
	{ leaks, "--gen-suppressions", KEY_CHOICE, OPTION_ALLOC | OPTION_LEAK,
	  FIELD(leak.generate), .choices = generate_names,
	  .help = "Write a suppression after each error; yes: the same as all." },
	{ leaks, "--log-file", KEY_OWN, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.log),
	  .apply = option_text_file, .expected = "a path; %p in it is the process id",
	  .metavar = "FILE",
	  .help = "Where the text goes; %p is the process id, %q{NAME} a variable of the "
		  "environment; default: standard error." },
	{ leaks, "--log-fd", KEY_OWN, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.log),
	  .apply = option_text_fd, .expected = "the number of an open file descriptor",
	  .metavar = "N",
	  .help = "The same as a file descriptor that memtraced was started with." },
	{ leaks, "--xml", KEY_CHOICE, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.xml.on),
	  .choices = no_yes,
	  .help = "Write the errors as Valgrind's XML to --xml-file or --xml-fd, and not as "
		  "text." },
	{ leaks, "--xml-file", KEY_OWN, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.xml.to),
	  .apply = option_text_file, .expected = "a path; %p in it is the process id",
	  .metavar = "FILE",
	  .help = "Where the XML goes; with %p and %q{NAME} as --log-file." },
	{ leaks, "--xml-fd", KEY_OWN, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.xml.to),
	  .apply = option_text_fd, .expected = "the number of an open file descriptor",
	  .metavar = "N",
	  .help = "The same as a file descriptor that memtraced was started with." },
	{ leaks, "--xml-protocol", KEY_NUMBER, OPTION_ALLOC | OPTION_LEAK,
	  FIELD(leak.xml.protocol), .least = 4, .most = 5, .fallback = "4", .metavar = "N",
	  .help = "The version of the XML, 4 or 5; default: 4." },
	{ leaks, "--xtree-leak", KEY_CHOICE, OPTION_ALLOC, FIELD(leak.xtree), .choices = no_yes,
	  .help = "Write the loss records into a file of callgrind's format instead, for "
		  "kcachegrind; with --leak-check=full and all kinds." },
	{ leaks, "--xtree-leak-file", KEY_OWN, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.xtree_to),
	  .apply = option_text_file,
	  .expected = "a path; %p in it is the process id", .metavar = "FILE",
	  .help = "The file of --xtree-leak; without it, xtleak.kcg.%p." },
	{ leaks, "--error-exitcode", KEY_NUMBER, OPTION_ALLOC | OPTION_LEAK,
	  FIELD(leak.error_exitcode), .most = 255, .fallback = "0",
	  .expected = "1 to 255, or 0 for none", .metavar = "N",
	  .help = "Exit with this status when there was an error; default: 0, errors do not "
		  "change it." },
	{ leaks, "--leak-check-at", KEY_LIST, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.at),
	  .expected = "the name of a function", .metavar = "FUNCTION",
	  .help = "Check whenever a process is about to run this function, by its name in the "
		  "symbol table. May be repeated." },
	{ leaks, "--leak-check-delta", KEY_FLAG, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.delta),
	  .help = "From the second check of a process on, show what has changed since the one "
		  "before." },
	{ leaks, "--max-stop", KEY_TIME, OPTION_ALLOC | OPTION_LEAK, FIELD(leak.max_stop_ns),
	  .least = 1, .unit_ns = 1000000, .fallback = "10000",
	  .expected = "milliseconds, or a number with ms, s, m or h behind it", .metavar = "MS",
	  .help = "Longest time that a check may hold a process, in ms; default: 10000." },

	{ child, "--run-as", KEY_TEXT, OPTION_CHILD, FIELD(run_as),
	  .expected = "a user's name or uid", .metavar = "USER",
	  .help = "Start the command as this user (name or uid); default: the user of sudo." },
	{ child, "--env", KEY_LIST, OPTION_CHILD, FIELD(env_set), .apply = option_env,
	  .expected = "NAME=VALUE", .metavar = "NAME=VALUE",
	  .help = "Set a variable in the command's environment. May be repeated." },
	{ child, "--no-follow", KEY_FLAG, 0, FIELD(no_follow),
	  .help = "Do not trace the processes that the traced ones start." },

	{ times, "-i", KEY_TIME, 0, FIELD(interval_ns), .least = 1, .metavar = "SEC",
	  .help = "Report every SEC seconds." },
	{ times, "-d", KEY_TIME, 0, FIELD(duration_ns), .least = 1, .metavar = "SEC",
	  .help = "Stop after SEC seconds; default: when the traced processes have ended." },
	{ times, "--sample-interval", KEY_TIME, OPTION_GROWTH, FIELD(sample_interval_ns),
	  .least = 1, .metavar = "SEC",
	  .help = "Sample live and resident bytes every SEC seconds, later less often, for the "
		  "timeline and trends; default: 0.1, for massif and heaptrack 0.01." },

	{ filters, "--min-size", KEY_SIZE, OPTION_ALLOC,
	  FIELD(block_filter.min_size), .metavar = "SIZE",
	  .help = "Only blocks of at least this size." },
	{ filters, "--max-size", KEY_SIZE, OPTION_ALLOC,
	  FIELD(block_filter.max_size), .metavar = "SIZE",
	  .help = "Only blocks of at most this size." },
	{ filters, "--older-than", KEY_TIME, OPTION_FOR_REPORT | OPTION_MEMORY,
	  FIELD(older_than_ns), .metavar = "SEC",
	  .help = "Only blocks that have lived for this long." },
	{ filters, "--where", KEY_OWN, OPTION_RECORDED | OPTION_MEMORY | OPTION_ONCE,
	  .apply = option_where, .metavar = "EXPR",
	  .help = "Only sites of which this is true, as in 'size >= 4k and oldest > 1m'." },
	{ filters, "--group-by", KEY_CHOICE, OPTION_RECORDED, FIELD(group_by),
	  .choices = group_by_names, .fallback = "site", .metavar = "WHAT",
	  .help = "In tables, sum sites by function, line, file, object, process, class, growth, "
		  "leak, size or age, and stacks of events as a flat profile; default: site." },
	{ filters, "--wrapper", KEY_LIST, OPTION_RECORDED, FIELD(wrappers),
	  .expected = "the name of a function, with * and ?", .metavar = "GLOB",
	  .help = "Functions that are wrappers, as in 'pool_*': their callers name the site, or "
		  "the stack of an event. May be repeated." },
	{ filters, "--full-names", KEY_FLAG, OPTION_RECORDED, FIELD(full_names),
	  .help = "In tables, names of functions with return types and all template arguments." },
	{ filters, "--top", KEY_NUMBER, OPTION_RECORDED, FIELD(top), .fallback = "10",
	  .expected = "a number, 0 for all", .metavar = "N",
	  .help = "Show the first N sites in tables, 0: all; default: 10." },
	{ filters, "--sort", KEY_CHOICE, OPTION_RECORDED | OPTION_MEMORY, FIELD(sort),
	  .choices = sort_names, .fallback = "bytes",
	  .help = "Which sites come first; default: bytes." },

	{ output, "-f", KEY_OWN, OPTION_RECORDED | OPTION_ONCE, .apply = option_format,
	  .expected = "a format such as json", .metavar = "FORMAT",
	  .help = "Write this format to standard output; default, without -o: table." },
	{ output, "-o", KEY_OWN, OPTION_RECORDED, .apply = option_output,
	  .expected = "FORMAT:PATH, such as json:out.json", .metavar = "FORMAT:PATH",
	  .help = "Write this format to a file; in PATH, %p is the process id, %e the name of "
		  "the event. May be repeated." },
	{ output, "--threshold", KEY_OWN, OPTION_FOR_REPORT | OPTION_ALLOC,
	  .apply = option_threshold, .fallback = "1.0",
	  .expected = "percent from 0 to 100, with two decimals at most", .metavar = "PERCENT",
	  .help = "In massif's format, places below this share are one; default: 1.0." },
	{ output, "--max-snapshots", KEY_NUMBER, OPTION_FOR_REPORT | OPTION_ALLOC,
	  FIELD(massif.max_snapshots), .least = 10, .most = 1000, .fallback = "100",
	  .metavar = "N",
	  .help = "In massif's format, keep N points in time, 10 to 1000; default: 100." },
	{ output, "--time-unit", KEY_CHOICE, OPTION_FOR_REPORT | OPTION_ALLOC,
	  FIELD(massif.time_unit), .choices = time_unit_names, .apply = option_time_unit,
	  .fallback = "ms",
	  .help = "In massif's format, time in milliseconds or in bytes allocated; default: "
		  "ms." },
	{ output, "--widths", KEY_CHOICE, OPTION_FOR_DIFF | OPTION_DIFF, FIELD(widths),
	  .choices = widths_names, .fallback = "after",
	  .help = "In the flame graph of a diff, the run whose values are the widths; default: "
		  "after." },
	{ output, "--color", KEY_CHOICE, OPTION_RECORDED, FIELD(color), .choices = color_names,
	  .help = "Colors in tables; auto: on a terminal." },
	{ output, "--no-tui", KEY_FLAG, 0, FIELD(no_tui),
	  .help = "With -p on a terminal: a table every two seconds instead of the full-screen "
		  "view." },
	{ output, "--debuginfod", KEY_FLAG, 0, FIELD(debuginfod),
	  .help = "For the final report, fetch missing debug information from the servers in "
		  "DEBUGINFOD_URLS." },

	{ tracing, "--attach", KEY_CHOICE, 0, FIELD(attach), .choices = attach_names,
	  .help = "How probes are attached; auto: the cheapest way this kernel has." },
	{ tracing, "--exact", KEY_CHOICE, OPTION_ALLOC, FIELD(exact), .choices = exact_names,
	  .fallback = "auto",
	  .help = "How calls are counted: probes, or library, which is preloaded into the command "
		  "and costs a fraction; auto: the library where it can be used, and the report "
		  "says why not; default: auto." },
	{ tracing, "--allocator", KEY_OWN, OPTION_ALLOC, .apply = option_allocator,
	  .metavar = "SPEC",
	  .help = "Functions of an allocator or pool that memtraced does not know, as in "
		  "'malloc=pool_get:size@2;free=pool_put:ptr@2'. May be repeated." },
	{ tracing, "--no-rss", KEY_FLAG, OPTION_GROWTH, FIELD(no_rss),
	  .help = "Do not read, at each report, what of the processes is in memory." },
	{ tracing, "--existing", KEY_TIME, OPTION_ALLOC | OPTION_MAY, FIELD(existing_stop_ns),
	  .least = 1, .implied = "1", .metavar = "SEC",
	  .help = "With -p, count the blocks that the process holds in glibc's heap already; "
		  "it is stopped for SEC seconds at most; default: 1." },
	{ tracing, "--max-blocks", KEY_SIZE, OPTION_ALLOC, FIELD(max_blocks), .least = 1,
	  .most = UINT32_MAX, .metavar = "N",
	  .help = "Room for N live blocks at a time (1M: 1048576); default: 2097152." },
	{ tracing, "--keep-ended", KEY_NUMBER, OPTION_ALLOC, FIELD(keep_ended),
	  .most = UINT32_MAX, .metavar = "N",
	  .help = "Keep the sites of the newest N ended processes, and sums by executable of "
		  "the others; default: 100 for a host, cgroup, user or name, otherwise all." },
	{ tracing, "--memory-limit", KEY_SIZE, OPTION_ALLOC, FIELD(memory_limit),
	  .least = OPTIONS_MEMORY_LEAST, .metavar = "SIZE",
	  .help = "Choose the maps so that they and memtraced itself stay below SIZE, 96M or "
		  "more; blocks that find no room are counted as lost." },
	{ tracing, "--max-stack", KEY_NUMBER, 0, FIELD(max_stack), .most = OPTIONS_MAX_STACK,
	  .fallback = "511", .metavar = "N",
	  .help = "Keep N callers of a stack, 0: none, which is cheapest; default: 511." },
	{ tracing, "--unwind", KEY_CHOICE, 0, FIELD(unwind), .choices = unwind_names,
	  .fallback = "cfi",
	  .help = "How stacks are unwound: cfi, by the programs' unwind tables (x86-64, else "
		  "fp), or fp, by frame pointers alone; default: cfi." },
	{ tracing, "--check-stacks", KEY_NUMBER, OPTION_MAY, FIELD(check_stacks), .least = 1,
	  .most = UINT32_MAX, .implied = "10000", .metavar = "N",
	  .help = "Walk N stacks once more, by libdwfl, and say how many are the same; "
		  "default: 10000." },
	{ tracing, "--heap-errors", KEY_FLAG, OPTION_ALLOC, FIELD(heap_errors),
	  .help = "Remember where blocks were freed, for reports of double frees, and by which "
		  "of malloc, new and new[] they were allocated. It costs a stack for each free." },
	{ tracing, "--free-stacks", KEY_FLAG, OPTION_ALLOC, FIELD(free_stacks),
	  .help = "Show where the blocks of each site are freed, after how long, and whether "
		  "by another thread. It costs a stack for each free." },
	{ tracing, "--floor", KEY_FLAG, OPTION_ALLOC, FIELD(floor),
	  .help = "Count nothing: run the same probes with empty programs, to see what the "
		  "probes alone cost." },

	{ service, "--service", KEY_FLAG, OPTION_FOR_SERVICE, FIELD(action),
	  .stored = ACTION_SERVICE,
	  .help = "Run as a service that traces on request over HTTP: /debug/pprof and /metrics." },
	{ service, "--config", KEY_TEXT, OPTION_FOR_SERVICE | OPTION_ONCE, FIELD(config_file),
	  .expected = "the path of a file", .metavar = "FILE",
	  .help = "The service's configuration; default: /etc/memtraced/memtraced.conf, if "
		  "that is there." },

	{ other, "--features", KEY_FLAG, 0, FIELD(action), .stored = ACTION_FEATURES,
	  .help = "Show what this kernel offers to memtraced, and exit." },
	{ other, "--verbose", KEY_FLAG, OPTION_RECORDED | OPTION_FOR_SERVICE, .letter = 'v',
	  FIELD(verbose),
	  .help = "Print more messages." },
	{ other, "--quiet", KEY_FLAG, OPTION_RECORDED | OPTION_FOR_SERVICE, .letter = 'q',
	  FIELD(quiet),
	  .help = "Print only warnings and errors." },
	{ other, "--version", KEY_FLAG, OPTION_RECORDED, .letter = 'V', FIELD(action),
	  .stored = ACTION_VERSION,
	  .help = "Show the version, and exit." },
	{ other, "--help", KEY_TEXT, OPTION_RECORDED | OPTION_MAY, .letter = 'h',
	  FIELD(help_topic), .apply = option_help, .metavar = "TOPIC",
	  .help = "Show help on a topic or an option, the next word, and exit; 'all': on all "
		  "of them." },
};

static const struct key of_ctl[] = {
	{ "ctl", "--for", KEY_TIME, 0, FIELD(ctl.for_ns), .apply = option_for, .metavar = "SEC",
	  .least = 1, .expected = "whole seconds, or a number with s, m or h behind it",
	  .help = "How long the trace takes, or the token is valid; default: 60s, of a token "
		  "12h." },
	{ "ctl", "--format", KEY_TEXT, 0, FIELD(ctl.format), .metavar = "NAME",
	  .help = "Format of the trace's report; default: html." },
	{ "ctl", "--sample", KEY_FLAG, 0, FIELD(ctl.depth), .stored = HEAP_SAMPLED,
	  .help = "Trace the samples that the process shows, not all calls." },
	{ "ctl", "--revoke", KEY_FLAG, 0, FIELD(ctl.revoke),
	  .help = "End all of your tokens; print no new one." },
	{ "ctl", "--socket", KEY_TEXT, 0, FIELD(ctl.socket), .metavar = "PATH",
	  .help = "The service's socket; default: " SERVICE_SOCKET_PATH "." },
	{ "ctl", "--help", KEY_FLAG, 0, .letter = 'h', .apply = option_help,
	  .help = "Show this help, and exit." },
};

static const struct key of_sample[] = {
	{ "sample", "--unit", KEY_TEXT, 0, FIELD(sample_unit.unit), .apply = option_unit,
	  .metavar = "NAME", .help = "The systemd service, such as nginx." },
	{ "sample", "--interval", KEY_SIZE, 0, FIELD(sample_unit.interval), .metavar = "SIZE",
	  .least = 1, .most = OPTIONS_SAMPLE_MOST, .fallback = "512k",
	  .help = "Mean bytes between samples; default: 512k." },
	{ "sample", "--exact", KEY_FLAG, 0, FIELD(sample_unit.exact),
	  .help = "Have it count all calls, in place of samples." },
	{ "sample", "--print", KEY_FLAG, 0, FIELD(sample_unit.what), .apply = option_unit_action,
	  .stored = SAMPLE_UNIT_PRINT, .help = "Print the drop-in and write nothing." },
	{ "sample", "--remove", KEY_FLAG, 0, FIELD(sample_unit.what), .apply = option_unit_action,
	  .stored = SAMPLE_UNIT_REMOVE, .help = "Remove the drop-in." },
	{ "sample", "--help", KEY_FLAG, 0, .letter = 'h', .apply = option_help,
	  .help = "Show this help, and exit." },
};
/* clang-format on */

const struct key_table option_keys = KEY_TABLE(options);
const struct key_table ctl_keys = KEY_TABLE(of_ctl);
const struct key_table sample_keys = KEY_TABLE(of_sample);

static_assert(sizeof(options) / sizeof(options[0]) <= OPTION_ROWS, "option_parser.seen");
