/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/option_table.h"

#include "config/job_options.h"
#include "config/leak_options.h"
#include "config/massif_options.h"
#include "config/output_options.h"
#include "config/target_options.h"
#include "config/units.h"
#include "config/where.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

static void *field_of(const struct option_parser *p, const struct option_def *def)
{
	return (char *)p->options + def->offset;
}

static int apply_action(struct option_parser *p, const struct option_def *def, const char *value)
{
	(void)value; /* a flag */
	p->options->action = def->action;
	return 0;
}

static int apply_flag(struct option_parser *p, const struct option_def *def, const char *value)
{
	bool *field = field_of(p, def);

	(void)value; /* a flag */
	*field = true;
	return 0;
}

static int apply_choice(struct option_parser *p, const struct option_def *def, const char *value)
{
	_cleanup_strbuf_ struct strbuf list = { 0 };
	char spelling[OPTION_SPELLING_LEN];
	unsigned int *field = field_of(p, def);

	for (unsigned int i = 0; def->choices[i]; i++) {
		if (strcmp(value, def->choices[i]) == 0) {
			*field = i;
			return 0;
		}
		strbuf_addf(&list, "%s%s", i ? ", " : "", def->choices[i]);
	}
	return option_error(p, "'%s' is no value of '%s': give one of %s", value,
			    option_spelling(def, spelling), strbuf_str(&list));
}

static int apply_size(struct option_parser *p, const struct option_def *def, const char *value)
{
	char spelling[OPTION_SPELLING_LEN];
	uint64_t *field = field_of(p, def);
	int r = parse_size(value, field);

	option_spelling(def, spelling);
	if (r == -ERANGE)
		return option_error(p, "'%s' is too large for '%s'", value, spelling);
	if (r < 0)
		return option_error(p,
				    "'%s' is no value of '%s': give a number, or one with "
				    "k, M, G or T behind it",
				    value, spelling);
	return 0;
}

/* The number of entries of a BPF map is a 32-bit field, and none is no map. */
static int apply_max_blocks(struct option_parser *p, const struct option_def *def,
			    const char *value)
{
	int r = apply_size(p, def, value);

	if (r < 0)
		return r;
	if (p->options->max_blocks == 0 || p->options->max_blocks > UINT32_MAX)
		return option_error(p, "'%s' is no value of '--max-blocks': give 1 to %u", value,
				    UINT32_MAX);
	return 0;
}

static int apply_memory_limit(struct option_parser *p, const struct option_def *def,
			      const char *value)
{
	int r = apply_size(p, def, value);

	if (r == 0 && p->options->memory_limit < OPTIONS_MEMORY_LEAST)
		return option_error(p, "'%s' is no value of '--memory-limit': give 96M or more",
				    value);
	return r;
}

static int apply_time(struct option_parser *p, const struct option_def *def, const char *value)
{
	char spelling[OPTION_SPELLING_LEN];
	uint64_t *field = field_of(p, def);
	int r = parse_duration(value, field);

	option_spelling(def, spelling);
	if (r == -ERANGE)
		return option_error(p, "'%s' is too large for '%s'", value, spelling);
	if (r < 0)
		return option_error(p,
				    "'%s' is no value of '%s': give seconds, or a number with "
				    "ms, s, m, h or d behind it",
				    value, spelling);
	return 0;
}

static int apply_config(struct option_parser *p, const struct option_def *def, const char *value)
{
	(void)def; /* sets its own field */
	if (*value == '\0')
		return option_error(p, "'--config' needs the path of a file");
	p->options->config_file = strdup(value);
	return p->options->config_file ? 0 : -ENOMEM;
}

static int apply_where(struct option_parser *p, const struct option_def *def, const char *value)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	int r = where_parse(value, &p->options->where, &error);

	(void)def; /* it has one use */
	return r == -EINVAL ? option_error(p, "--where: %s", strbuf_str(&error)) : r;
}

static int apply_positive_time(struct option_parser *p, const struct option_def *def,
			       const char *value)
{
	char spelling[OPTION_SPELLING_LEN];
	const uint64_t *field = field_of(p, def);
	int r = apply_time(p, def, value);

	if (r == 0 && *field == 0)
		return option_error(p, "'%s' is no value of '%s': give more than 0", value,
				    option_spelling(def, spelling));
	return r;
}

/* Who asks for samples in quick succession wants to be told as soon as they tell something. */
static int apply_sample_interval(struct option_parser *p, const struct option_def *def,
				 const char *value)
{
	p->options->growth_span_ns = 0;
	return apply_positive_time(p, def, value);
}

static int apply_top(struct option_parser *p, const struct option_def *def, const char *value)
{
	(void)def; /* sets its own field */
	if (parse_digits(value, value + strlen(value), &p->options->top) < 0)
		return option_error(p, "'%s' is no value of '--top': give a number, 0 for all",
				    value);
	return 0;
}

static int apply_keep_ended(struct option_parser *p, const struct option_def *def,
			    const char *value)
{
	(void)def; /* sets its own field */
	if (parse_digits(value, value + strlen(value), &p->options->keep_ended) < 0 ||
	    p->options->keep_ended > UINT32_MAX)
		return option_error(p, "'%s' is no value of '--keep-ended': give 0 to %u", value,
				    UINT32_MAX);
	return 0;
}

static int apply_max_stack(struct option_parser *p, const struct option_def *def, const char *value)
{
	uint64_t n;

	(void)def; /* sets its own field */
	if (parse_digits(value, value + strlen(value), &n) < 0 || n > OPTIONS_MAX_STACK)
		return option_error(p, "'%s' is no value of '--max-stack': give 0 to %d", value,
				    OPTIONS_MAX_STACK);
	p->options->max_stack = n;
	return 0;
}

/* For --existing alone: reading a million blocks and entering them takes half of it. */
#define EXISTING_STOP_NS UINT64_C(1000000000)

static int apply_existing(struct option_parser *p, const struct option_def *def, const char *value)
{
	if (value)
		return apply_positive_time(p, def, value);
	p->options->existing_stop_ns = EXISTING_STOP_NS;
	return 0;
}

static int apply_sample(struct option_parser *p, const struct option_def *def, const char *value)
{
	uint64_t *bytes = &p->options->sample_bytes;
	int r = 0;

	*bytes = OPTIONS_SAMPLE_BYTES;
	if (value)
		r = apply_size(p, def, value);
	if (r == 0 && (*bytes == 0 || *bytes > OPTIONS_SAMPLE_MOST))
		return option_error(p, "'%s' is no value of '--sample': give 1 to 1T", value);
	return r;
}

static int apply_overhead(struct option_parser *p, const struct option_def *def, const char *value)
{
	uint64_t *share = &p->options->max_overhead;

	(void)def; /* sets its own field */
	if (parse_share(value, share) < 0 || *share < 1 || *share > 10000)
		return option_error(p,
				    "'%s' is no value of '--max-overhead': give one from 0.01%% "
				    "to 100%%",
				    value);
	p->options->alloc = true; /* beside page faults, which are asked for with it */
	return 0;
}

static int apply_check_stacks(struct option_parser *p, const struct option_def *def,
			      const char *value)
{
	uint64_t n = OPTIONS_CHECK_STACKS;

	(void)def; /* sets its own field */
	if (value &&
	    (parse_digits(value, value + strlen(value), &n) < 0 || n == 0 || n > UINT32_MAX))
		return option_error(p, "'%s' is no value of '--check-stacks': give 1 to %u", value,
				    UINT32_MAX);
	p->options->check_stacks = n;
	return 0;
}

static const char *const group_by_names[] = {
	[GROUP_BY_SITE] = "site",
	[GROUP_BY_FUNCTION] = "function",
	[GROUP_BY_FILE] = "file",
	[GROUP_BY_OBJECT] = "object",
	[GROUP_BY_PROCESS] = "process",
	[GROUP_BY_CLASS] = "class",
	[GROUP_BY_GROWTH] = "growth",
	[GROUP_BY_LEAK] = "leak",
	[GROUP_BY_SIZE] = "size",
	[GROUP_BY_AGE] = "age",
	NULL,
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

#define FIELD(name) .offset = offsetof(struct options, name)

/* clang-format off */
const struct option_def option_table[] = {
	{ 'p', NULL, GROUP_TARGET, OPTION_TARGET, "PID[,PID]", NULL, target_apply_pids,
	  .help = "Trace these running processes, and their descendants (but see --no-follow). "
		  "May be repeated." },
	{ 'c', NULL, GROUP_TARGET, OPTION_TARGET | OPTION_ONCE, "'CMD ARGS'", NULL,
	  target_apply_command,
	  .help = "Start this command and trace it from its first instruction. Quotes and "
		  "backslashes work as in a shell; nothing is expanded." },
	{ 0, "cgroup", GROUP_TARGET, OPTION_TARGET | OPTION_ONCE, "PATH", NULL, target_apply_cgroup,
	  .help = "Trace the processes of this cgroup (v2) and of those below it." },
	{ 'a', NULL, GROUP_TARGET, OPTION_TARGET, NULL, NULL, apply_flag, FIELD(all),
	  .help = "Trace all processes of the host but memtraced." },
	{ 0, "uid", GROUP_TARGET, OPTION_TARGET | OPTION_ONCE, "USER", NULL, target_apply_uid,
	  .help = "Only processes of this user (name or uid), of the host if no other target is "
		  "given." },
	{ 0, "comm", GROUP_TARGET, OPTION_TARGET, "GLOB", NULL, target_apply_comm,
	  .help = "Only processes with such a name, as in 'cc1*'; with a command or -p, all are "
		  "followed and these are counted. May be repeated." },

	{ 0, "hist", GROUP_JOBS, 0, "SPEC", NULL, job_apply_hist,
	  .help = "Show how values are distributed. May be repeated." },
	{ 'e', NULL, GROUP_JOBS, 0, "EVENT", NULL, job_apply_event,
	  .help = "Show the stacks that lead to this event. May be repeated." },
	{ 0, "cpu", GROUP_JOBS, OPTION_MAY | OPTION_ONCE, "HZ", NULL, job_apply_cpu,
	  .help = "Show the stacks that run, sampled so often a second; default: 99." },
	{ 0, "off-cpu", GROUP_JOBS, OPTION_ONCE, NULL, NULL, job_apply_off_cpu,
	  .help = "Show the stacks that wait, and how long." },
	{ 0, "page-faults", GROUP_JOBS, OPTION_MAY | OPTION_ONCE, "N", NULL, job_apply_page_faults,
	  .help = "Show the stacks by which memory grows: one in N page faults; default: as many "
		  "as cost little." },
	{ 0, "mappings", GROUP_JOBS, 0, NULL, NULL, apply_flag, FIELD(mappings),
	  .help = "Show who maps what is still mapped, by mmap, mremap and brk; without probes." },
	{ 0, "kernel", GROUP_JOBS, OPTION_EVENT, NULL, NULL, apply_flag, FIELD(kernel_stacks),
	  .help = "With events of all kinds: the frames within the kernel as well." },
	{ 0, "each", GROUP_JOBS, OPTION_EVENT, NULL, NULL, apply_flag, FIELD(each),
	  .help = "With all but --off-cpu: each event by itself, with its time, as perf-script." },
	{ 0, "syscalls", GROUP_JOBS, 0, NULL, NULL, apply_flag, FIELD(syscalls),
	  .help = "Show the system calls, by call." },
	{ 0, "stacks", GROUP_JOBS, 0, NULL, NULL, apply_flag, FIELD(stacks),
	  .help = "With --syscalls: who makes them." },
	{ 0, "alloc", GROUP_JOBS, 0, NULL, NULL, apply_flag, FIELD(alloc),
	  .help = "Trace allocations beside these jobs, too." },
	{ 0, "sample", GROUP_JOBS, OPTION_ALLOC | OPTION_MAY, "BYTES", NULL, apply_sample,
	  FIELD(sample_bytes),
	  .help = "Count samples that programs choose themselves and show by otel_memory probes, "
		  "one in BYTES (of -c; default: 512k), in place of all calls: estimates, at a "
		  "fraction of the cost." },

	{ 0, "max-overhead", GROUP_JOBS, OPTION_ALLOC, "P%", NULL, apply_overhead,
	  FIELD(max_overhead),
	  .help = "Count all calls once P% of the program's own CPU time pays for that, and while "
		  "it does; else samples, or only page faults: the report says what since when." },

	{ 0, "leak-check", GROUP_LEAKS, OPTION_ALLOC, NULL, leak_check_names, apply_choice,
	  FIELD(leak.mode),
	  .help = "Say which blocks a process has lost, in the words of Valgrind's memcheck: when "
		  "it ends or executes another program, by SIGUSR1 to memtraced, with -i, and at "
		  "the end of a trace. yes: full." },
	{ 0, "show-leak-kinds", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, "KINDS", NULL,
	  leak_apply_kinds, FIELD(leak.show_kinds),
	  .help = "Which are shown in full: all, none, or some of "
		  "definite,indirect,possible,reachable; default: definite,possible." },
	{ 0, "errors-for-leak-kinds", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, "KINDS", NULL,
	  leak_apply_kinds, FIELD(leak.error_kinds),
	  .help = "Which are errors; default: definite,possible." },
	{ 0, "leak-resolution", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, NULL, resolution_names,
	  apply_choice, FIELD(leak.resolution),
	  .help = "How many callers tell places apart: low, 2; med, 4; high, all; default: "
		  "high." },
	{ 0, "leak-check-heuristics", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, "SET", NULL,
	  leak_apply_heuristics, FIELD(leak.heuristics),
	  .help = "Pointers into blocks that count as ones to their start: all, none, or some of "
		  "stdstring,length64,newarray,multipleinheritance; default: all." },
	{ 0, "num-callers", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, "N", NULL,
	  leak_apply_num_callers,
	  .help = "Callers of a stack that are shown and tell places apart; default: 12." },
	{ 0, "suppressions", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, "FILE", NULL,
	  leak_apply_suppressions,
	  .help = "Leave out what this file names, in Valgrind's syntax. May be repeated." },
	{ 0, "default-suppressions", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, NULL,
	  default_suppressions_names, apply_choice, FIELD(leak.default_suppressions),
	  .help = "Leave out what libc, ld.so and libstdc++ hold by design; default: yes." },
	{ 0, "gen-suppressions", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, NULL, generate_names,
	  apply_choice, FIELD(leak.generate),
	  .help = "Write a suppression behind each error; yes: as all." },
	{ 0, "log-file", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, "FILE", NULL, leak_apply_log_file,
	  .help = "Where the text goes; %p is the process id; default: standard error." },
	{ 0, "error-exitcode", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, "N", NULL,
	  leak_apply_exitcode,
	  .help = "Exit with this status when there was an error; default: 0, never." },
	{ 0, "leak-check-at", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, "FUNCTION", NULL,
	  leak_apply_at,
	  .help = "Check whenever a process is about to run this function, by its name in the "
		  "symbol table. May be repeated." },
	{ 0, "leak-check-delta", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, NULL, NULL, apply_flag,
	  FIELD(leak.delta),
	  .help = "From the second check of a process on, show what has changed since the one "
		  "before." },
	{ 0, "max-stop", GROUP_LEAKS, OPTION_ALLOC | OPTION_LEAK, "MS", NULL, leak_apply_max_stop,
	  .help = "Longest time that a check may hold a process, in ms; default: 10000." },

	{ 0, "run-as", GROUP_CHILD, OPTION_CHILD, "USER", NULL, target_apply_run_as,
	  .help = "Start the command as this user (name or uid); default: who called sudo." },
	{ 0, "env", GROUP_CHILD, OPTION_CHILD, "NAME=VALUE", NULL, target_apply_env,
	  .help = "Set a variable in the command's environment. May be repeated." },
	{ 0, "no-follow", GROUP_CHILD, 0, NULL, NULL, apply_flag, FIELD(no_follow),
	  .help = "Do not trace the processes that the traced ones start." },

	{ 'i', NULL, GROUP_WHEN, 0, "SEC", NULL, apply_positive_time, FIELD(interval_ns),
	  .help = "Report every SEC seconds." },
	{ 'd', NULL, GROUP_WHEN, 0, "SEC", NULL, apply_positive_time, FIELD(duration_ns),
	  .help = "Stop after SEC seconds; default: when the traced processes have ended." },

	{ 0, "sample-interval", GROUP_WHEN, OPTION_GROWTH, "SEC", NULL, apply_sample_interval,
	  FIELD(sample_interval_ns),
	  .help = "Look every SEC seconds at what is live and resident, for the timeline and "
		  "trends, later less often; default: 0.1, for massif and heaptrack 0.01." },

	{ 0, "min-size", GROUP_FILTER, OPTION_FOR_REPORT | OPTION_ALLOC, "SIZE", NULL, apply_size,
	  FIELD(min_size), .help = "Only blocks of at least this size." },
	{ 0, "max-size", GROUP_FILTER, OPTION_FOR_REPORT | OPTION_ALLOC, "SIZE", NULL, apply_size,
	  FIELD(max_size), .help = "Only blocks of at most this size." },
	{ 0, "older-than", GROUP_FILTER, OPTION_FOR_REPORT | OPTION_MEMORY, "SEC", NULL, apply_time,
	  FIELD(older_than_ns), .help = "Only blocks that have lived for this long." },
	{ 0, "where", GROUP_FILTER, OPTION_RECORDED | OPTION_MEMORY | OPTION_ONCE, "EXPR", NULL,
	  apply_where,
	  .help = "Only sites of which this is true, as in 'size >= 4k and oldest > 1m'." },
	{ 0, "group-by", GROUP_FILTER, OPTION_RECORDED | OPTION_MEMORY, NULL, group_by_names,
	  apply_choice, FIELD(group_by),
	  .help = "In tables, sum sites by what they have in common; default: site." },
	{ 0, "top", GROUP_FILTER, OPTION_RECORDED, "N", NULL, apply_top,
	  .help = "Show the first N sites in tables, 0: all; default: 10." },
	{ 0, "sort", GROUP_FILTER, OPTION_RECORDED | OPTION_MEMORY, NULL, sort_names,
	  apply_choice, FIELD(sort), .help = "Which sites come first; default: bytes." },

	{ 'f', NULL, GROUP_OUTPUT, OPTION_RECORDED | OPTION_ONCE, "FORMAT", NULL,
	  output_apply_format,
	  .help = "Write this format to standard output; default, without -o: table." },
	{ 'o', NULL, GROUP_OUTPUT, OPTION_RECORDED, "FORMAT:PATH", NULL, output_apply_file,
	  .help = "Write this format to a file; in PATH, %p is the process id, %e the name of "
		  "the event. May be repeated." },
	{ 0, "threshold", GROUP_OUTPUT, OPTION_FOR_REPORT | OPTION_ALLOC, "PERCENT", NULL,
	  massif_apply_threshold,
	  .help = "In massif's format, places below this share are one; default: 1.0." },
	{ 0, "max-snapshots", GROUP_OUTPUT, OPTION_FOR_REPORT | OPTION_ALLOC, "N", NULL,
	  massif_apply_max_snapshots,
	  .help = "In massif's format, keep N points in time, 10 to 1000; default: 100." },
	{ 0, "time-unit", GROUP_OUTPUT, OPTION_FOR_REPORT | OPTION_ALLOC, "ms|B", NULL,
	  massif_apply_time_unit,
	  .help = "In massif's format, time in milliseconds or in bytes allocated; default: ms." },
	{ 0, "widths", GROUP_OUTPUT, OPTION_FOR_DIFF | OPTION_DIFF, NULL, widths_names,
	  apply_choice, FIELD(widths),
	  .help = "In the flame graph of a diff, which run says how wide frames are; default: "
		  "after." },
	{ 0, "color", GROUP_OUTPUT, OPTION_RECORDED, NULL, color_names, apply_choice,
	  FIELD(color), .help = "Colors in tables; auto: on a terminal." },
	{ 0, "no-tui", GROUP_OUTPUT, 0, NULL, NULL, apply_flag, FIELD(no_tui),
	  .help = "With -p on a terminal: a table every two seconds instead of the full-screen "
		  "view." },
	{ 0, "debuginfod", GROUP_OUTPUT, 0, NULL, NULL, apply_flag, FIELD(debuginfod),
	  .help = "For the final report, fetch missing debug information from the servers in "
		  "DEBUGINFOD_URLS." },

	{ 0, "attach", GROUP_TRACING, 0, NULL, attach_names, apply_choice, FIELD(attach),
	  .help = "How probes are attached; auto: the cheapest way this kernel has." },
	{ 0, "allocator", GROUP_TRACING, OPTION_ALLOC, "SPEC", NULL, job_apply_allocator,
	  .help = "Functions of an allocator or pool that memtraced does not know, as in "
		  "'malloc=pool_get:size@2;free=pool_put:ptr@2'. May be repeated." },
	{ 0, "no-rss", GROUP_TRACING, OPTION_GROWTH, NULL, NULL, apply_flag, FIELD(no_rss),
	  .help = "Do not read, at each report, what of the processes is in memory." },
	{ 0, "existing", GROUP_TRACING, OPTION_ALLOC | OPTION_MAY, "SEC", NULL, apply_existing,
	  FIELD(existing_stop_ns),
	  .help = "With -p, count the blocks that the process holds in glibc's heap already; it is "
		  "stopped for SEC seconds at most; default: 1." },
	{ 0, "max-blocks", GROUP_TRACING, OPTION_ALLOC, "N", NULL, apply_max_blocks,
	  FIELD(max_blocks),
	  .help = "Room for N live blocks at a time (1M: 1048576); default: 2097152." },
	{ 0, "keep-ended", GROUP_TRACING, OPTION_ALLOC, "N", NULL, apply_keep_ended,
	  .help = "Of processes that have ended, keep the sites of the newest N, and of the others "
		  "sums by executable; default: 100 of a host, cgroup, user or name, else all." },
	{ 0, "memory-limit", GROUP_TRACING, OPTION_ALLOC, "SIZE", NULL, apply_memory_limit,
	  FIELD(memory_limit),
	  .help = "Choose the maps so that they and memtraced itself stay below SIZE, 96M or more; "
		  "what finds no room is counted as lost." },
	{ 0, "max-stack", GROUP_TRACING, 0, "N", NULL, apply_max_stack,
	  .help = "Keep N callers of a stack, 0: none, which is cheapest; default: 511." },
	{ 0, "unwind", GROUP_TRACING, 0, NULL, unwind_names, apply_choice, FIELD(unwind),
	  .help = "How stacks are unwound: cfi, by the programs' unwind tables (x86-64, else fp), "
		  "or fp, by frame pointers alone; default: cfi." },
	{ 0, "check-stacks", GROUP_TRACING, OPTION_MAY, "N", NULL, apply_check_stacks,
	  .help = "Walk N stacks once more, by libdwfl, and say how many are the same; default: "
		  "10000." },
	{ 0, "heap-errors", GROUP_TRACING, OPTION_ALLOC, NULL, NULL, apply_flag, FIELD(heap_errors),
	  .help = "Remember where blocks were freed, for reports of double frees, and by which of "
		  "malloc, new and new[] they were made. It costs a stack for each free." },
	{ 0, "free-stacks", GROUP_TRACING, OPTION_ALLOC, NULL, NULL, apply_flag, FIELD(free_stacks),
	  .help = "Show where the blocks of each site are freed, after how long, and whether by "
		  "another thread. It costs a stack for each free." },
	{ 0, "floor", GROUP_TRACING, OPTION_ALLOC, NULL, NULL, apply_flag, FIELD(floor),
	  .help = "Count nothing: run the same probes with empty programs, to see what the probes "
		  "alone cost." },

	{ 0, "service", GROUP_SERVICE, OPTION_FOR_SERVICE, NULL, NULL, apply_action,
	  .action = ACTION_SERVICE,
	  .help = "Stay, and trace what is asked for over HTTP: /debug/pprof and /metrics." },
	{ 0, "config", GROUP_SERVICE, OPTION_FOR_SERVICE | OPTION_ONCE, "FILE", NULL, apply_config,
	  .help = "The service's configuration; default: /etc/memtraced/memtraced.conf, if that is "
		  "there." },

	{ 0, "features", GROUP_OTHER, 0, NULL, NULL, apply_action, .action = ACTION_FEATURES,
	  .help = "Show what this kernel offers to memtraced, and exit." },
	{ 'v', "verbose", GROUP_OTHER, OPTION_RECORDED | OPTION_FOR_SERVICE, NULL, NULL,
	  apply_flag, FIELD(verbose),
	  .help = "Say more about what is done." },
	{ 'q', "quiet", GROUP_OTHER, OPTION_RECORDED | OPTION_FOR_SERVICE, NULL, NULL,
	  apply_flag, FIELD(quiet),
	  .help = "Say only what went wrong." },
	{ 'V', "version", GROUP_OTHER, OPTION_RECORDED, NULL, NULL, apply_action,
	  .action = ACTION_VERSION, .help = "Show the version, and exit." },
	{ 'h', "help", GROUP_OTHER, OPTION_RECORDED, NULL, NULL, apply_action,
	  .action = ACTION_HELP, .help = "Show this help, and exit." },
};
/* clang-format on */

const size_t n_options = sizeof(option_table) / sizeof(option_table[0]);

static_assert(sizeof(option_table) / sizeof(option_table[0]) <= OPTION_ROWS, "option_parser.seen");
static_assert(sizeof(enum option_sort) == sizeof(unsigned int) &&
		      sizeof(enum option_attach) == sizeof(unsigned int) &&
		      sizeof(enum option_unwind) == sizeof(unsigned int) &&
		      sizeof(enum option_widths) == sizeof(unsigned int) &&
		      sizeof(enum leak_check_mode) == sizeof(unsigned int) &&
		      sizeof(enum leak_resolution) == sizeof(unsigned int) &&
		      sizeof(enum leak_generate) == sizeof(unsigned int) &&
		      sizeof(enum leak_default_suppressions) == sizeof(unsigned int) &&
		      sizeof(enum option_color) == sizeof(unsigned int),
	      "apply_choice sets any of them through an unsigned int");
