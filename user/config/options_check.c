/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which options go together. */
#include "base/clock.h"
#include "config/leak_request.h"
#include "config/option_parser.h"

#include <errno.h>
#include <string.h>

/* In the order in which they are looked at: the first that holds is the error. */
struct conflict {
	bool holds;
	const char *error;
	const struct key *key; /* its name stands before the error; NULL: none does */
};

static int refuse_first(const struct option_parser *p, const struct conflict *conflicts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (conflicts[i].holds && conflicts[i].key)
			return config_error(p->error, "'%s' %s", conflicts[i].key->name,
					    conflicts[i].error);
		if (conflicts[i].holds)
			return config_error(p->error, "%s", conflicts[i].error);
	}
	return 0;
}
#define REFUSE_FIRST(p, conflicts)                                                                 \
	refuse_first(p, conflicts, sizeof(conflicts) / sizeof((conflicts)[0]))

/* The first given option of which `flags & mask` equals `want`, or NULL. */
static const struct key *given_with(const struct option_parser *p, unsigned int mask,
				    unsigned int want)
{
	for (size_t i = 0; i < p->table->n; i++)
		if (p->seen[i] && (p->table->keys[i].flags & mask) == want)
			return &p->table->keys[i];
	return NULL;
}

/* --- report, diff, service -------------------------------------------------------------------- */

static int check_report(struct option_parser *p)
{
	const struct key *other = given_with(p, OPTION_FOR_REPORT, 0);
	const struct conflict conflicts[] = {
		{ other, "has no meaning for 'report': leave it out", other },
		{ !p->options->report_file, "'report' needs a file: memtraced report FILE", NULL },
	};

	p->options->action = ACTION_REPORT;
	return REFUSE_FIRST(p, conflicts);
}

/* A diff has no process, but may have several jobs. */
static bool has_only_jobs(const char *path)
{
	while ((path = strchr(path, '%'))) {
		if (path[1] != 'e')
			return false;
		path += 2;
	}
	return true;
}

static int check_diff(struct option_parser *p)
{
	const struct key *other = given_with(p, OPTION_FOR_DIFF, 0);
	const struct options *o = p->options;
	const struct conflict conflicts[] = {
		{ other, "has no meaning for 'diff': leave it out", other },
		{ !o->diff_files[1], "'diff' needs two files: memtraced diff BEFORE AFTER", NULL },
		{ o->sort == SORT_GROWTH,
		  "'--sort=growth' has no meaning for 'diff', which shows nothing else: give "
		  "bytes, count, peak or temporary",
		  NULL },
	};
	int r = REFUSE_FIRST(p, conflicts);

	for (size_t i = 0; r == 0 && i < o->n_outputs; i++)
		if (o->outputs[i].path && !has_only_jobs(o->outputs[i].path))
			return config_error(p->error,
					    "invalid path '%s': expected no '%%' but '%%e', as "
					    "'diff' writes about two runs",
					    o->outputs[i].path);
	p->options->action = ACTION_DIFF;
	return r;
}

static int check_service(const struct option_parser *p)
{
	const struct key *other = given_with(p, OPTION_FOR_SERVICE, 0);

	if (!other && !p->options->command)
		return 0;
	return config_error(p->error,
			    "'%s' has no meaning for '--service', which traces what it is asked "
			    "for: leave it out",
			    other ? other->name : "--");
}

static int check_ctl(const struct option_parser *p)
{
	struct ctl_options *ctl = &p->options->ctl;
	bool is_trace = ctl->verb == CTL_TRACE, is_token = ctl->verb == CTL_TOKEN;
	const struct conflict conflicts[] = {
		{ ctl->verb == CTL_NONE, "'ctl': expected status, trace PID, reports or token",
		  NULL },
		{ is_trace && ctl->pid == 0, "'ctl trace' needs a process id", NULL },
		{ !is_trace && (ctl->format || ctl->depth),
		  "'--format' and '--sample' are for 'ctl trace'", NULL },
		{ !is_trace && !is_token && ctl->for_ns,
		  "'--for' is for 'ctl trace' and 'ctl token'", NULL },
		{ ctl->revoke && (!is_token || ctl->for_ns),
		  "'--revoke' is for 'ctl token', without '--for'", NULL },
	};

	if (is_trace && ctl->for_ns == 0)
		ctl->for_ns = 60 * SECOND_NS;
	return REFUSE_FIRST(p, conflicts);
}

static int check_sample_unit(const struct option_parser *p)
{
	const struct conflict conflicts[] = {
		{ !p->options->sample_unit.unit,
		  "'sample' needs --unit=NAME; a command is sampled by '--sample -c'", NULL },
	};

	return REFUSE_FIRST(p, conflicts);
}

/* --- a trace ---------------------------------------------------------------------------------- */

/* One kind of target, and what it takes. */
static int check_target(const struct option_parser *p)
{
	const struct key *of_child = given_with(p, OPTION_CHILD, OPTION_CHILD);
	const struct options *o = p->options;
	bool pids = o->n_pids + o->n_pid_names > 0, command = o->command;
	const struct conflict conflicts[] = {
		{ pids && command,
		  "'-p' and a command exclude each other: trace either running processes or a new "
		  "one",
		  NULL },
		{ o->cgroup && o->all,
		  "'--cgroup' and '-a' exclude each other: trace either a cgroup or the whole host",
		  NULL },
		{ o->all && command, "'-a' and a command exclude each other: give one of them",
		  NULL },
		{ o->all && pids, "'-a' and '-p' exclude each other: give one of them", NULL },
		{ o->cgroup && command,
		  "'--cgroup' and a command exclude each other: give one of them", NULL },
		{ o->cgroup && pids, "'--cgroup' and '-p' exclude each other: give one of them",
		  NULL },
		{ !given_with(p, OPTION_TARGET, OPTION_TARGET) && !command,
		  "nothing to trace: give a process with -p, a command with -c or behind --, a "
		  "cgroup with --cgroup, or -a for the whole host",
		  NULL },
		{ command && o->command[0][0] == '\0',
		  "the command's first word is empty: give a program", NULL },
		{ !command && of_child,
		  "is for a command that memtraced starts: give one with -c or behind --",
		  of_child },
		{ o->existing_stop_ns && !pids,
		  "'--existing' applies to running processes: name one with -p", NULL },
		{ o->memory_limit && o->max_blocks,
		  "'--memory-limit' and '--max-blocks' exclude each other: the limit says how many "
		  "blocks there is room for",
		  NULL },
		/* The processes of a rule are not started by others: there is nothing to follow. */
		{ options_trace_widely(o) && o->no_follow,
		  "'--no-follow' applies to -p and to a command only: leave it out", NULL },
	};

	return REFUSE_FIRST(p, conflicts);
}

/* A wait is told when it is over, by another thread. */
static bool any_has_a_time(const struct options *o)
{
	for (size_t i = 0; i < o->n_events; i++)
		if (o->events[i].kind != EVENT_WAIT)
			return true;
	return false;
}

/* What has an effect only beside a job. */
static int check_jobs(const struct option_parser *p)
{
	const struct key *of_event = given_with(p, OPTION_EVENT, OPTION_EVENT);
	const struct key *of_alloc = given_with(p, OPTION_ALLOC, OPTION_ALLOC);
	const struct key *of_memory = given_with(p, OPTION_MEMORY, OPTION_MEMORY);
	const struct key *of_growth = given_with(p, OPTION_GROWTH, OPTION_GROWTH);
	const struct options *o = p->options;
	const struct conflict conflicts[] = {
		{ of_event && o->n_events == 0,
		  "applies to events: name one with -e, or give --cpu, --off-cpu or --page-faults",
		  of_event },
		{ o->each && !any_has_a_time(o),
		  "'--each' applies to events of -e and --cpu: waits are summed", NULL },
		{ o->stacks && !o->syscalls,
		  "'--stacks' applies to system calls: give --syscalls too", NULL },
		{ o->each && !options_has_format(o, "perf-script"),
		  "'--each' needs a format that has a line for each event: give -f perf-script or "
		  "-o perf-script:PATH",
		  NULL },
		{ o->mappings && options_trace_allocations(o),
		  "'--mappings' is not needed: mappings are counted where allocations are; leave "
		  "it out",
		  NULL },
		{ of_growth && !options_trace_growth(o),
		  "applies to allocations, which other jobs turn off: leave it out, or give "
		  "--alloc, --mappings or --page-faults too",
		  of_growth },
		{ of_memory && !options_trace_memory(o),
		  "applies to allocations, which other jobs turn off: leave it out, or give "
		  "--alloc or --mappings too",
		  of_memory },
		{ o->group_by != GROUP_BY_SITE && !options_trace_memory(o) &&
			  (o->n_events == 0 || !options_groups_stacks(o->group_by)),
		  "'--group-by' applies to allocations, which other jobs turn off, and by "
		  "function, line, file, object and process to stacks of events: leave it out",
		  NULL },
		{ o->wrappers && !options_trace_memory(o) && o->n_events == 0,
		  "'--wrapper' applies to allocations, which other jobs turn off, and to stacks "
		  "of events: leave it out",
		  NULL },
		{ of_alloc && !options_trace_allocations(o),
		  "applies to allocations, which other jobs turn off: leave it out, or give "
		  "--alloc too",
		  of_alloc },
	};

	return REFUSE_FIRST(p, conflicts);
}

static int check_leaks(const struct option_parser *p)
{
	const struct key *of_leaks = given_with(p, OPTION_LEAK, OPTION_LEAK);
	const struct options *o = p->options;
	bool checks = options_check_leaks(o);
	const struct text_target *xml = &o->leak.xml.to;
	bool has_xml_target = xml->path || xml->fd || xml->socket.port;
	const struct conflict conflicts[] = {
		{ o->check_stacks > 0 && o->max_stack == 0,
		  "'--check-stacks' applies to stacks, and '--max-stack=0' leaves none: leave one "
		  "out",
		  NULL },
		{ o->free_stacks && o->max_stack == 0,
		  "'--free-stacks' applies to stacks, and '--max-stack=0' leaves none: leave one "
		  "out",
		  NULL },
		{ !checks && of_leaks, "applies to leaks: give --leak-check=full too", of_leaks },
		{ o->leak.xml.on && !has_xml_target,
		  "'--xml=yes' needs --xml-file=FILE or --xml-fd=N", NULL },
		{ !o->leak.xml.on && has_xml_target && !o->valgrind.on,
		  "'--xml-file' and '--xml-fd' are for XML: give --xml=yes, too", NULL },
		{ o->leak.xml.on && o->leak.mode == LEAK_CHECK_SUMMARY,
		  "'--xml=yes' shows each leak: give --leak-check=full", NULL },
		{ checks && options_trace_widely(o),
		  "'--leak-check' stops the processes that it checks: name them with -p, or give a "
		  "command",
		  NULL },
		{ checks && o->floor,
		  "'--floor' counts nothing, so that there are no leaks to look for: leave out "
		  "'--leak-check'",
		  NULL },
		{ checks && !abi_block_filter_is_open(&o->block_filter),
		  "'--leak-check' needs all blocks: leave out '--min-size' and '--max-size'",
		  NULL },
	};

	return REFUSE_FIRST(p, conflicts);
}

static bool any_hist_of_allocators(const struct options *o)
{
	for (size_t i = 0; i < o->n_hists; i++)
		if (o->hists[i].what == HIST_ALLOC)
			return true;
	return false;
}

/* What was given that applies to all calls of allocators; NULL: nothing. */
static const char *needs_all_calls(const struct options *o)
{
	const struct {
		bool given;
		const char *option;
	} of_all_blocks[] = {
		{ options_check_leaks(o), "--leak-check" },
		{ o->existing_stop_ns, "--existing" },
		{ o->heap_errors, "--heap-errors" },
		{ o->free_stacks, "--free-stacks" },
		{ o->n_allocators, "--allocator" },
		{ o->floor, "--floor" },
		{ o->sort == SORT_TEMPORARY, "--sort=temporary" },
	};

	for (size_t i = 0; i < sizeof(of_all_blocks) / sizeof(of_all_blocks[0]); i++)
		if (of_all_blocks[i].given)
			return of_all_blocks[i].option;
	return NULL;
}

void options_limit_overhead(struct options *options)
{
	if (options->action != ACTION_TRACE || options->command || options->overhead_given ||
	    options->sample_bytes || !options_trace_allocations(options) ||
	    needs_all_calls(options) || any_hist_of_allocators(options))
		return;
	options->max_overhead = OPTIONS_OVERHEAD;
	options->overhead_exact_first = true;
}

/* Samples are of some blocks, of which no other is told apart. */
static int check_sample(const struct option_parser *p)
{
	const struct options *o = p->options;
	const char *of = o->max_overhead ? "--max-overhead" : o->sample_bytes ? "--sample" : NULL;
	const char *of_all = needs_all_calls(o);

	if (of && of_all)
		return config_error(p->error,
				    "'%s' applies to all calls of allocators, of which '%s' sees "
				    "some: leave one out",
				    of_all, of);
	if (of && any_hist_of_allocators(o))
		return config_error(p->error,
				    "a histogram of an allocator's function applies to all its "
				    "calls, of which '%s' sees some: leave one out",
				    of);
	/* No process there is given the library, and few have probes. */
	if (o->max_overhead && o->sample_bytes && options_trace_widely(o))
		return config_error(p->error,
				    "'--max-overhead' has no samples but of -p and of a command: "
				    "leave out '--sample'");
	return 0;
}

const char *options_need_probes(const struct options *o)
{
	const struct {
		bool given;
		const char *option;
	} of_probes[] = {
		{ o->sample_bytes, "--sample" },
		{ o->max_overhead, "--max-overhead" },
		{ o->n_allocators, "--allocator" },
		{ o->attach != ATTACH_AUTO, "--attach" },
		{ o->floor, "--floor" },
		{ o->check_stacks, "--check-stacks" },
		{ o->unwind == UNWIND_FP, "--unwind=fp" },
		/* By so many frames it is told which mappings are an allocator's. */
		{ o->max_stack < 16, "--max-stack below 16" },
		/* A process that runs has counted other sizes. */
		{ !o->command && o->block_filter.min_size, "--min-size" },
		{ !o->command && o->block_filter.max_size != UINT64_MAX, "--max-size" },
		{ o->no_follow, "--no-follow" },
	};

	for (size_t i = 0; i < sizeof(of_probes) / sizeof(of_probes[0]); i++)
		if (of_probes[i].given)
			return of_probes[i].option;
	return any_hist_of_allocators(o) ? "a histogram of an allocator's function" : NULL;
}

static int check_exact(const struct option_parser *p)
{
	const struct options *o = p->options;
	const char *of_probes = options_need_probes(o);

	if (o->exact != EXACT_LIBRARY)
		return 0;
	if (!o->command && !(o->n_pids + o->n_pid_names))
		return config_error(p->error,
				    "'--exact=library' is for a command, or for processes that "
				    "count themselves: give one with -c or -p");
	if (of_probes)
		return config_error(
			p->error,
			"%s needs probes, which '--exact=library' does without: leave one out",
			of_probes);
	return 0;
}

/* Page faults: costs next to nothing, whatever comes. */
#define GROWTH_PERIOD "1000"

/*
 * What --max-overhead goes down to: samples, and page faults, which are counted from the start, as
 * they cost next to nothing.
 */
static int add_depths(const struct option_parser *p)
{
	struct options *o = p->options;

	o->overhead_exact_first = o->max_overhead && options_trace_widely(o);
	if (!o->max_overhead || o->overhead_exact_first)
		return 0;
	if (!o->sample_bytes)
		o->sample_bytes = OPTIONS_SAMPLE_BYTES;
	for (size_t i = 0; i < o->n_events; i++)
		if (o->events[i].kind == EVENT_FAULTS)
			return 0;
	return option_page_faults(o, NULL, GROWTH_PERIOD, p->error);
}

/* --attach says how probes get into programs: for allocations and histograms of them. */
static int check_attach(const struct option_parser *p)
{
	const struct options *o = p->options;
	const struct conflict conflicts[] = {
		{ o->attach != ATTACH_AUTO && !options_trace_allocations(o) &&
			  !any_hist_of_allocators(o),
		  "'--attach' applies to allocations, which other jobs turn off: leave it out, or "
		  "give --alloc too",
		  NULL },
	};

	return REFUSE_FIRST(p, conflicts);
}

/* What programs call that include memtraced.h. */
static int add_leak_requests(const struct option_parser *p)
{
	static const char name[] = "leak-check-at";
	const struct key *key = option_find_long(&option_keys, name, strlen(name));
	int r = 0;

	if (!options_check_leaks(p->options))
		return 0;
	for (int i = LEAK_REQUEST_FULL; r == 0 && i < LEAK_REQUESTS; i++)
		r = key_set(p->options, key, leak_request_function((enum leak_request)i), p->error);
	return r;
}

static int check_trace(const struct option_parser *p)
{
	static int (*const checks[])(const struct option_parser *p) = {
		check_target, check_jobs, check_leaks,	check_sample,
		check_exact,  add_depths, check_attach, add_leak_requests,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(checks) / sizeof(checks[0]); i++)
		r = checks[i](p);
	return r;
}

/* --- all of them ------------------------------------------------------------------------------ */

#define GROWTH_SPAN_NS (10 * SECOND_NS)

/* Who asks for samples in quick succession wants to be told as soon as they tell something. */
static void set_sample_interval(struct options *o)
{
	/* Less where a format draws the run of a short program. */
	bool is_fine = options_has_format(o, "massif") || options_has_format(o, "heaptrack");

	if (o->sample_interval_ns)
		return;
	o->growth_span_ns = GROWTH_SPAN_NS;
	o->sample_interval_ns = is_fine ? 10000000 : 100000000;
}

/* As in memcheck: whoever reads the file chooses kinds there. */
static int set_xtree(struct leak_options *leak)
{
	if (!leak->xtree)
		return 0;
	leak->mode = LEAK_CHECK_FULL;
	leak->show_kinds = LEAK_ALL_KINDS;
	if (!leak->xtree_to.path)
		leak->xtree_to.path = strdup("xtleak.kcg.%p");
	return leak->xtree_to.path ? 0 : -ENOMEM;
}

int options_check(struct option_parser *p)
{
	const struct key *of_diff = given_with(p, OPTION_DIFF, OPTION_DIFF);
	struct options *o = p->options;

	set_sample_interval(o);
	if (set_xtree(&o->leak))
		return -ENOMEM;
	if (o->action == ACTION_CTL)
		return check_ctl(p);
	if (o->action == ACTION_SAMPLE_UNIT)
		return check_sample_unit(p);
	o->alloc |= o->max_overhead > 0; /* beside page faults, which are asked for with it */
	if (o->verbose && o->quiet)
		return config_error(p->error, "'--verbose' and '--quiet' exclude each other: leave "
					      "one out");
	if (o->block_filter.min_size > o->block_filter.max_size)
		return config_error(
			p->error, "no block matches: --min-size %llu is more than --max-size %llu",
			o->block_filter.min_size, o->block_filter.max_size);
	if (!p->diff && of_diff)
		return config_error(p->error, "'%s' applies to two runs: see 'memtraced diff'",
				    of_diff->name);
	if (p->diff)
		return check_diff(p);
	if (p->report)
		return check_report(p);
	if (o->action == ACTION_SERVICE)
		return check_service(p);
	if (o->config_file)
		return config_error(p->error, "'--config' is for the service: give --service, too");
	if (o->action == ACTION_FEATURES &&
	    (o->command || given_with(p, OPTION_TARGET, OPTION_TARGET)))
		return config_error(p->error, "'--features' traces nothing: leave out the process "
					      "or command");
	return o->action == ACTION_FEATURES ? 0 : check_trace(p);
}
