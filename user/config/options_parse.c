/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/ctl_options.h"
#include "config/job_options.h"
#include "config/leak_options.h"
#include "config/massif_options.h"
#include "config/near_name.h"
#include "config/option_table.h"
#include "config/output_options.h"
#include "config/sample_options.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define DEFAULT_TOP 10
#define DEFAULT_CALLERS 12 /* memcheck's */
#define DEFAULT_MAX_STOP_NS (10 * UINT64_C(1000000000))

static int options_new(struct options **ret_options)
{
	struct options *options = calloc(1, sizeof(*options));

	if (!options)
		return -ENOMEM;
	options->max_size = UINT64_MAX;
	options->growth_span_ns = 10000000000;
	options->top = DEFAULT_TOP;
	options->keep_ended = UINT64_MAX;
	options->max_stack = OPTIONS_MAX_STACK;
	options->massif = (struct massif_options){
		.threshold = MASSIF_THRESHOLD,
		.max_snapshots = MASSIF_SNAPSHOTS,
	};
	options->leak = (struct leak_options){
		.show_kinds = LEAK_KIND_DEFINITE | LEAK_KIND_POSSIBLE,
		.error_kinds = LEAK_KIND_DEFINITE | LEAK_KIND_POSSIBLE,
		.heuristics = LEAK_ALL_HEURISTICS,
		.resolution = LEAK_RESOLUTION_HIGH,
		.num_callers = DEFAULT_CALLERS,
		.max_stop_ns = DEFAULT_MAX_STOP_NS,
	};
	*ret_options = options;
	return 0;
}

static bool was_given(const struct option_parser *p, const struct option_def *def)
{
	return p->seen[def - option_table];
}

/* The first given option of which `flags & mask` equals `want`, or NULL. */
static const struct option_def *given_with(const struct option_parser *p, unsigned int mask,
					   unsigned int want)
{
	for (const struct option_def *def = option_table; def < option_table + n_options; def++)
		if (was_given(p, def) && (def->flags & mask) == want)
			return def;
	return NULL;
}

static const struct option_def *find_long(const char *name, size_t len)
{
	for (const struct option_def *def = option_table; def < option_table + n_options; def++)
		if (def->long_name && strlen(def->long_name) == len &&
		    strncmp(def->long_name, name, len) == 0)
			return def;
	return NULL;
}

static const struct option_def *find_short(char name)
{
	for (const struct option_def *def = option_table; def < option_table + n_options; def++)
		if (def->short_name == name)
			return def;
	return NULL;
}

static int apply(struct option_parser *p, const struct option_def *def, const char *value)
{
	char spelling[OPTION_SPELLING_LEN];

	if ((def->flags & OPTION_ONCE) && was_given(p, def))
		return option_error(p, "'%s' is given twice: give it once",
				    option_spelling(def, spelling));
	p->seen[def - option_table] = true;
	return def->apply(p, def, value);
}

/* Applies an option whose value, if it takes one, is the next word. */
static int apply_with_next_word(struct option_parser *p, const struct option_def *def)
{
	char spelling[OPTION_SPELLING_LEN];

	if (!option_takes_value(def) || (def->flags & OPTION_MAY))
		return apply(p, def, NULL);
	if (p->next >= p->argc)
		return option_error(p, "'%s' needs a value behind it; see 'memtraced --help'",
				    option_spelling(def, spelling));
	return apply(p, def, p->argv[p->next++]);
}

/* `name` is `len` bytes of the argument `word`, without dashes. */
static int unknown_option(struct option_parser *p, const char *dashes, const char *name, size_t len)
{
	_cleanup_free_ char *copy = strndup(name, len);
	const char *meant, *why = leak_option_refused(name, len);
	struct near_name near;

	if (!copy)
		return -ENOMEM;
	if (!why)
		why = massif_option_refused(name, len);
	if (why)
		return option_error(p, "'%s%s' is not there: %s", dashes, copy, why);
	near_name_init(&near, copy);
	for (size_t i = 0; i < n_options; i++)
		if (option_table[i].long_name)
			near_name_offer(&near, option_table[i].long_name);
	meant = near_name_get(&near);
	if (meant)
		return option_error(p, "unknown option '%s%s'; did you mean '--%s'?", dashes, copy,
				    meant);
	return option_error(p, "unknown option '%s%s'; see 'memtraced --help'", dashes, copy);
}

static int parse_long(struct option_parser *p, const char *name)
{
	size_t len = strcspn(name, "=");
	const struct option_def *def = find_long(name, len);

	if (!def)
		return unknown_option(p, "--", name, len);
	if (name[len] == '\0')
		return apply_with_next_word(p, def);
	if (!option_takes_value(def))
		return option_error(p, "'--%s' takes no value: leave out '%s'", def->long_name,
				    name + len);
	return apply(p, def, name + len + 1);
}

/* "-v", "-vq", "-p5", "-vp5"; or, its value in the next word, "-p". */
static int parse_short(struct option_parser *p, const char *letters)
{
	for (const char *at = letters; *at != '\0'; at++) {
		const struct option_def *def = find_short(*at);
		int r;

		if (!def) /* maybe a long one behind a single dash: look at all of the word */
			return at == letters ? unknown_option(p, "-", letters, strlen(letters)) :
					       unknown_option(p, "-", at, 1);
		if (option_takes_value(def) && at[1] != '\0')
			return apply(p, def, at + 1);
		r = apply_with_next_word(p, def);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_diff_file(struct option_parser *p, const char *word)
{
	char **files = p->options->diff_files;
	size_t i = files[0] ? 1 : 0;

	if (files[i])
		return option_error(p, "unexpected argument '%s': 'diff' compares two files", word);
	files[i] = strdup(word);
	return files[i] ? 0 : -ENOMEM;
}

static int parse_bare_word(struct option_parser *p, const char *word)
{
	if (p->diff)
		return take_diff_file(p, word);
	if (!p->report && strcmp(word, "diff") == 0) {
		p->diff = true;
		return 0;
	}
	if (!p->report && strcmp(word, "report") == 0) {
		p->report = true;
		return 0;
	}
	if (p->next == 2 && strcmp(word, "ctl") == 0)
		return ctl_options_parse(p);
	if (p->next == 2 && strcmp(word, "sample") == 0)
		return sample_options_parse(p);
	if (!p->report)
		return option_error(p,
				    "unexpected argument '%s': put a command behind -c or --, "
				    "a pid behind -p",
				    word);
	if (p->options->report_file)
		return option_error(p, "unexpected argument '%s': 'report' reads one file", word);
	p->options->report_file = strdup(word);
	return p->options->report_file ? 0 : -ENOMEM;
}

/* All that is left behind "--". */
static int take_command(struct option_parser *p)
{
	size_t n = (size_t)(p->argc - p->next);
	char **command;

	if (p->report || p->diff)
		return option_error(p, "'%s' starts no command: leave out '--'",
				    p->report ? "report" : "diff");
	if (p->options->command)
		return option_error(p, "'-c' and '--' both give a command: leave one out");
	if (n == 0)
		return option_error(p, "there is no command behind '--': give one");
	command = calloc(n + 1, sizeof(*command));
	if (!command)
		return -ENOMEM;
	p->options->command = command;
	for (size_t i = 0; i < n; i++) {
		command[i] = strdup(p->argv[p->next++]);
		if (!command[i])
			return -ENOMEM;
	}
	return 0;
}

static bool ends_parsing(const struct option_parser *p)
{
	enum option_action action = p->options->action;

	return action == ACTION_HELP || action == ACTION_VERSION || action == ACTION_CTL ||
	       action == ACTION_SAMPLE_UNIT;
}

static int parse_words(struct option_parser *p)
{
	int r = 0;

	while (r == 0 && p->next < p->argc && !ends_parsing(p)) {
		const char *word = p->argv[p->next++];

		if (strcmp(word, "--") == 0)
			r = take_command(p); /* to the end */
		else if (strncmp(word, "--", 2) == 0)
			r = parse_long(p, word + 2);
		else if (word[0] == '-' && word[1] != '\0')
			r = parse_short(p, word + 1);
		else
			r = parse_bare_word(p, word);
	}
	return r;
}

static int check_report(struct option_parser *p)
{
	const struct option_def *def = given_with(p, OPTION_FOR_REPORT, 0);
	char spelling[OPTION_SPELLING_LEN];

	if (def)
		return option_error(p, "'%s' has no meaning for 'report': leave it out",
				    option_spelling(def, spelling));
	if (!p->options->report_file)
		return option_error(p, "'report' needs a file: memtraced report FILE");
	p->options->action = ACTION_REPORT;
	return 0;
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
	const struct option_def *def = given_with(p, OPTION_FOR_DIFF, 0);
	const struct options *o = p->options;
	char spelling[OPTION_SPELLING_LEN];

	if (def)
		return option_error(p, "'%s' has no meaning for 'diff': leave it out",
				    option_spelling(def, spelling));
	if (!o->diff_files[1])
		return option_error(p, "'diff' needs two files: memtraced diff BEFORE AFTER");
	if (o->sort == SORT_GROWTH)
		return option_error(p, "'--sort=growth' has no meaning for 'diff', which shows "
				       "nothing else: give bytes, count, peak or temporary");
	for (size_t i = 0; i < o->n_outputs; i++)
		if (o->outputs[i].path && !has_only_jobs(o->outputs[i].path))
			return option_error(p,
					    "'diff' is of two runs: of '%%' only '%%e' may stand "
					    "in '%s'",
					    o->outputs[i].path);
	p->options->action = ACTION_DIFF;
	return 0;
}

/* One kind of target, and what it takes. */
static int check_target(struct option_parser *p)
{
	const struct option_def *def = given_with(p, OPTION_CHILD, OPTION_CHILD);
	const struct options *o = p->options;
	char spelling[OPTION_SPELLING_LEN];

	if (o->n_pids > 0 && o->command)
		return option_error(p, "'-p' and a command exclude each other: trace either "
				       "running processes or a new one");
	if (o->cgroup && o->all)
		return option_error(p, "'--cgroup' and '-a' exclude each other: trace either a "
				       "cgroup or the whole host");
	if ((o->cgroup || o->all) && (o->n_pids > 0 || o->command))
		return option_error(p, "'%s' and %s exclude each other: give one of them",
				    o->all ? "-a" : "--cgroup", o->command ? "a command" : "'-p'");
	if (!given_with(p, OPTION_TARGET, OPTION_TARGET) && !o->command)
		return option_error(p, "nothing to trace: give a process with -p, a command with "
				       "-c or behind --, a cgroup with --cgroup, or -a for the "
				       "whole host");
	if (o->command && o->command[0][0] == '\0')
		return option_error(p, "the command's first word is empty: give a program");
	if (!o->command && def)
		return option_error(p,
				    "'%s' is for a command that memtraced starts: give one "
				    "with -c or behind --",
				    option_spelling(def, spelling));
	return 0;
}

static int check_existing(struct option_parser *p)
{
	if (p->options->existing_stop_ns && p->options->n_pids == 0)
		return option_error(p, "'--existing' is about running processes: name one with -p");
	return 0;
}

static int check_room(struct option_parser *p)
{
	if (p->options->memory_limit && p->options->max_blocks)
		return option_error(p,
				    "'--memory-limit' and '--max-blocks' exclude each other: the "
				    "limit says how many blocks there is room for");
	return 0;
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
static int check_jobs(struct option_parser *p)
{
	const struct option_def *of_event = given_with(p, OPTION_EVENT, OPTION_EVENT);
	const struct option_def *of_alloc = given_with(p, OPTION_ALLOC, OPTION_ALLOC);
	const struct option_def *of_memory = given_with(p, OPTION_MEMORY, OPTION_MEMORY);
	const struct option_def *of_growth = given_with(p, OPTION_GROWTH, OPTION_GROWTH);
	const struct options *o = p->options;
	char spelling[OPTION_SPELLING_LEN];

	if (of_event && o->n_events == 0)
		return option_error(p,
				    "'%s' is about events: name one with -e, or give --cpu, "
				    "--off-cpu or --page-faults",
				    option_spelling(of_event, spelling));
	if (o->each && !any_has_a_time(o))
		return option_error(p,
				    "'--each' is about events of -e and --cpu: waits are summed");
	if (o->stacks && !o->syscalls)
		return option_error(p, "'--stacks' is about system calls: give --syscalls too");
	if (o->each && !output_has_format(o, "perf-script"))
		return option_error(p, "'--each' needs a format that has a line for each event: "
				       "give -f perf-script or -o perf-script:PATH");
	if (o->mappings && options_trace_allocations(o))
		return option_error(p, "'--mappings' is there where allocations are traced, beside "
				       "which mappings are counted: leave it out");
	if (of_growth && !options_trace_growth(o))
		return option_error(p,
				    "'%s' is about allocations, which other jobs turn off: leave "
				    "it out, or give --alloc, --mappings or --page-faults too",
				    option_spelling(of_growth, spelling));
	if (of_memory && !options_trace_memory(o))
		return option_error(p,
				    "'%s' is about allocations, which other jobs turn off: leave "
				    "it out, or give --alloc or --mappings too",
				    option_spelling(of_memory, spelling));
	if (of_alloc && !options_trace_allocations(o))
		return option_error(p,
				    "'%s' is about allocations, which other jobs turn off: leave "
				    "it out, or give --alloc too",
				    option_spelling(of_alloc, spelling));
	return 0;
}

/* The processes of a rule are not started by others: there is nothing to follow. */
static int check_wide_target(struct option_parser *p)
{
	const struct options *o = p->options;

	if (options_trace_widely(o) && o->no_follow)
		return option_error(p, "'--no-follow' is for the processes of -p or of a command: "
				       "leave it out");
	return 0;
}

/* --attach says how probes get into programs: for allocations and histograms of them. */
static int check_attach(struct option_parser *p)
{
	const struct options *o = p->options;

	if (o->attach == ATTACH_AUTO || options_trace_allocations(o))
		return 0;
	for (size_t i = 0; i < o->n_hists; i++)
		if (o->hists[i].what == HIST_ALLOC)
			return 0;
	return option_error(p, "'--attach' is about allocations, which other jobs turn off: leave "
			       "it out, or give --alloc too");
}

static int check_stacks(struct option_parser *p)
{
	if (p->options->check_stacks > 0 && p->options->max_stack == 0)
		return option_error(p, "'--check-stacks' is about stacks, and '--max-stack=0' "
				       "leaves none: leave one out");
	if (p->options->free_stacks && p->options->max_stack == 0)
		return option_error(p, "'--free-stacks' is about stacks, and '--max-stack=0' "
				       "leaves none: leave one out");
	return 0;
}

static int check_leaks(struct option_parser *p)
{
	const struct option_def *of_leaks = given_with(p, OPTION_LEAK, OPTION_LEAK);
	const struct options *o = p->options;
	char spelling[OPTION_SPELLING_LEN];

	if (!options_check_leaks(o) && of_leaks)
		return option_error(p, "'%s' is about leaks: give --leak-check=full too",
				    option_spelling(of_leaks, spelling));
	if (options_check_leaks(o) && options_trace_widely(o))
		return option_error(p, "'--leak-check' stops the processes that it checks: name "
				       "them with -p, or give a command");
	if (options_check_leaks(o) && o->floor)
		return option_error(p, "'--floor' counts nothing, so that there are no leaks to "
				       "look for: leave out '--leak-check'");
	if (options_check_leaks(o) && (o->min_size > 0 || o->max_size != UINT64_MAX))
		return option_error(p, "'--leak-check' needs all blocks: leave out '--min-size' "
				       "and '--max-size'");
	return 0;
}

/* Samples are of some blocks, of which no other is told apart. */
static int check_sample(struct option_parser *p)
{
	const struct options *o = p->options;
	const char *of = o->max_overhead ? "--max-overhead" : o->sample_bytes ? "--sample" : NULL;
	const struct {
		bool given;
		const char *option;
	} of_all_blocks[] = {
		{ options_check_leaks(o), "--leak-check" }, { o->existing_stop_ns, "--existing" },
		{ o->heap_errors, "--heap-errors" },	    { o->free_stacks, "--free-stacks" },
		{ o->n_allocators, "--allocator" },	    { o->floor, "--floor" },
	};

	for (size_t i = 0; i < sizeof(of_all_blocks) / sizeof(of_all_blocks[0]); i++)
		if (of && of_all_blocks[i].given)
			return option_error(p,
					    "'%s' is about all calls of allocators, of which "
					    "'%s' sees some: leave one out",
					    of_all_blocks[i].option, of);
	for (size_t i = 0; i < o->n_hists; i++)
		if (of && o->hists[i].what == HIST_ALLOC)
			return option_error(p,
					    "a histogram of an allocator's function is about "
					    "all its calls, of which '%s' sees some: "
					    "leave one out",
					    of);
	return 0;
}

/* Whom it costs something must be known, to compare it with what that process uses. */
static int check_overhead(struct option_parser *p)
{
	if (p->options->max_overhead && options_trace_widely(p->options))
		return option_error(p, "'--max-overhead' is about the processes of -p or of a "
				       "command: name some");
	return 0;
}

/* Page faults: costs next to nothing, whatever comes. */
#define GROWTH_PERIOD "1000"

/*
 * What --max-overhead goes down to: samples, and page faults, which are counted from the start, as
 * they cost next to nothing.
 */
static int add_depths(struct option_parser *p)
{
	struct options *o = p->options;

	if (!o->max_overhead)
		return 0;
	if (!o->sample_bytes)
		o->sample_bytes = OPTIONS_SAMPLE_BYTES;
	for (size_t i = 0; i < o->n_events; i++)
		if (o->events[i].kind == EVENT_FAULTS)
			return 0;
	return job_apply_page_faults(p, NULL, GROWTH_PERIOD);
}

static int check_trace(struct option_parser *p)
{
	int r = check_target(p);

	if (r == 0)
		r = check_existing(p);
	if (r == 0)
		r = check_room(p);
	if (r == 0)
		r = check_wide_target(p);
	if (r == 0)
		r = check_jobs(p);
	if (r == 0)
		r = check_stacks(p);
	if (r == 0)
		r = check_leaks(p);
	if (r == 0)
		r = check_sample(p);
	if (r == 0)
		r = check_overhead(p);
	if (r == 0)
		r = add_depths(p);
	return r < 0 ? r : check_attach(p);
}

static int check_service(struct option_parser *p)
{
	const struct option_def *def = given_with(p, OPTION_FOR_SERVICE, 0);
	char spelling[OPTION_SPELLING_LEN];

	if (def || p->options->command)
		return option_error(p,
				    "'%s' has no meaning for '--service', which traces what it is "
				    "asked for: leave it out",
				    def ? option_spelling(def, spelling) : "--");
	return 0;
}

static int check_features(struct option_parser *p)
{
	if (p->options->command || given_with(p, OPTION_TARGET, OPTION_TARGET))
		return option_error(p, "'--features' traces nothing: leave out the process or "
				       "command");
	return 0;
}

static int check(struct option_parser *p)
{
	const struct option_def *of_diff = given_with(p, OPTION_DIFF, OPTION_DIFF);
	const struct options *o = p->options;
	char spelling[OPTION_SPELLING_LEN];

	if (o->verbose && o->quiet)
		return option_error(p, "'--verbose' and '--quiet' exclude each other: leave one "
				       "out");
	if (o->min_size > o->max_size)
		return option_error(p,
				    "no block is of at least %" PRIu64 " and at most %" PRIu64
				    " bytes: change --min-size or --max-size",
				    o->min_size, o->max_size);
	if (!p->diff && of_diff)
		return option_error(p, "'%s' is about two runs: see 'memtraced diff'",
				    option_spelling(of_diff, spelling));
	if (p->diff)
		return check_diff(p);
	if (p->report)
		return check_report(p);
	if (o->action == ACTION_SERVICE)
		return check_service(p);
	if (o->config_file)
		return option_error(p, "'--config' is for the service: give --service, too");
	if (o->action == ACTION_FEATURES)
		return check_features(p);
	return check_trace(p);
}

int options_parse(int argc, char *const *argv, struct options **ret_options, struct strbuf *error)
{
	_cleanup_(options_free_p) struct options *options = NULL;
	struct option_parser p = { .argc = argc, .argv = argv, .next = 1, .error = error };
	int r = options_new(&options);

	if (r < 0)
		return r;
	p.options = options;
	r = parse_words(&p);
	if (r == 0 && !ends_parsing(&p))
		r = check(&p);
	if (r < 0)
		return r;
	if (options->sample_interval_ns == 0)
		options->sample_interval_ns = output_sample_interval_ns(options);
	*ret_options = TAKE_PTR(options);
	return 0;
}
