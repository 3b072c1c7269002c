/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/event_spec.h"

#include "base/cleanup.h"
#include "config/key.h"
#include "config/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the words that name events --------------------------------------------------------------- */

#define SPEC_MAX_PARTS 3
#define NAME_START                                                                                 \
	"abcdefghijklmnopqrstuvwxyz"                                                               \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                                               \
	"0123456789_"
#define NAME_REST NAME_START "-." /* "xhci-hcd" is a category */

/* A copy of `len` bytes that are a name; 0, -EINVAL or -ENOMEM. */
static int copy_name(const char *text, size_t len, char **ret_name)
{
	char *name = strndup(text, len);

	if (!name)
		return -ENOMEM;
	if (len == 0 || strspn(name, NAME_START) == 0 || strspn(name, NAME_REST) != len) {
		free(name);
		return -EINVAL;
	}
	*ret_name = name;
	return 0;
}

/*
 * Copies the parts between the colons of `len` bytes; those that are not there become NULL. The
 * number of parts; -EINVAL when there are more than three, or when one is empty or has characters
 * that no name of tracefs has (none has a slash or begins with a dot: they are put into paths); or
 * -ENOMEM.
 */
static int spec_split(const char *text, size_t len, char *ret_parts[SPEC_MAX_PARTS])
{
	char *parts[SPEC_MAX_PARTS] = { NULL };
	const char *end = text + len;
	int n = 0, r = 0;

	for (const char *at = text; r == 0 && at <= end; n++) {
		const char *colon = memchr(at, ':', (size_t)(end - at));
		const char *stop = colon ? colon : end;

		r = n == SPEC_MAX_PARTS ? -EINVAL : copy_name(at, (size_t)(stop - at), &parts[n]);
		at = stop + 1;
	}
	if (r < 0) {
		for (size_t i = 0; i < SPEC_MAX_PARTS; i++)
			free(parts[i]);
		return r;
	}
	memcpy(ret_parts, parts, sizeof(parts));
	return n;
}

/* What follows `prefix` in `name`; NULL when it has not that prefix, or no name behind it. */
static const char *spec_behind(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len) != 0 || strspn(name + len, NAME_START) == 0)
		return NULL;
	return name + len;
}

/* Does `name` begin with the prefix by which an allocator tells its functions from others'? */
static bool has_allocator_s_prefix(const char *name)
{
	static const char *const prefixes[] = {
		"je_",	   "_rjem_", "tc_",    "mi_",
		"__rust_", "__rg_",  "__rdl_", "memtraced_malloclike_",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (spec_behind(name, prefixes[i]))
			return true;
	return false;
}

/* Not those that take no size: frees, and copies of strings. */
static bool takes_size(const char *name)
{
	static const char *const words[] = { "free",	"delete", "dealloc",
					     "dallocx", "strdup", "strndup" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(name, words[i]))
			return false;
	return true;
}

bool spec_is_allocator(const char *name)
{
	static const char *const names[] = {
		"malloc",   "calloc",  "realloc",	"reallocarray",	  "memalign",
		"reallocf", "valloc",  "aligned_alloc", "posix_memalign", "pvalloc",
		"mallocx",  "rallocx", "xallocx",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return has_allocator_s_prefix(name) && takes_size(name);
}

/* --- -e, --cpu, --off-cpu, --page-faults ------------------------------------------------------ */

void event_spec_done(struct event_spec *spec)
{
	free(spec->text);
	free(spec->category);
	free(spec->name);
	*spec = (struct event_spec){ 0 };
}

/* "getrandom", "sys_enter_getrandom" or "sys_exit_getrandom". */
static int fill_syscall(struct event_spec *spec, const char *name)
{
	bool whole = spec_behind(name, "sys_enter_") || spec_behind(name, "sys_exit_");

	spec->is_syscall = true;
	spec->category = strdup("syscalls");
	if (asprintf(&spec->name, "%s%s", whole ? "" : "sys_enter_", name) < 0)
		spec->name = NULL;
	return spec->category && spec->name ? 0 : -ENOMEM;
}

static int fill_event(struct event_spec *spec, char *parts[SPEC_MAX_PARTS], int n,
		      struct strbuf *error)
{
	if (n == 3)
		return config_error(
			error,
			"invalid -e '%s': expected '%s:%s' for the stacks of the event, "
			"or '--hist %s' for a histogram of its field",
			spec->text, parts[0], parts[1], spec->text);
	if (n == 1 && spec_is_allocator(parts[0]))
		return config_error(error,
				    "invalid -e '%s': leave it out, allocations are traced "
				    "without it (beside other jobs: --alloc)",
				    spec->text);
	if (n == 1)
		return fill_syscall(spec, parts[0]);
	spec->category = TAKE_PTR(parts[0]);
	spec->name = TAKE_PTR(parts[1]);
	return 0;
}

static int make_event(enum event_kind kind, const char *name, struct event_spec *ret_spec)
{
	_cleanup_(event_spec_done) struct event_spec spec = {
		.text = strdup(name),
		.name = strdup(name),
		.kind = kind,
	};

	if (!spec.text || !spec.name)
		return -ENOMEM;
	*ret_spec = spec;
	spec = (struct event_spec){ 0 };
	return 0;
}

int event_spec_cpu(uint32_t hz, struct event_spec *ret_spec)
{
	int r = make_event(EVENT_SAMPLE, EVENT_CPU_CLOCK, ret_spec);

	if (r == 0)
		ret_spec->hz = hz;
	return r;
}

int event_spec_off_cpu(struct event_spec *ret_spec)
{
	return make_event(EVENT_WAIT, EVENT_OFF_CPU, ret_spec);
}

int event_spec_page_faults(uint32_t period, struct event_spec *ret_spec)
{
	int r = make_event(EVENT_FAULTS, EVENT_PAGE_FAULTS, ret_spec);

	if (r == 0)
		ret_spec->period = period;
	return r;
}

bool event_spec_equal(const struct event_spec *a, const struct event_spec *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind != EVENT_TRACEPOINT)
		return true;
	return strcmp(a->category, b->category) == 0 && strcmp(a->name, b->name) == 0;
}

bool event_spec_interrupts(const struct event_spec *spec)
{
	/* Any other tracepoint may be hit by an interrupt or a page fault. */
	return spec->kind != EVENT_TRACEPOINT || (strcmp(spec->category, "syscalls") != 0 &&
						  strcmp(spec->category, "raw_syscalls") != 0);
}

int event_spec_parse(const char *text, struct event_spec *ret_spec, struct strbuf *error)
{
	_cleanup_(event_spec_done) struct event_spec spec = { .text = strdup(text) };
	char *parts[SPEC_MAX_PARTS] = { NULL };
	int n, r;

	if (!spec.text)
		return -ENOMEM;
	n = spec_split(text, strlen(text), parts);
	if (n == -EINVAL)
		return config_error(error,
				    "invalid -e '%s': expected a system call such as getrandom, or "
				    "CATEGORY:EVENT such as sched:sched_switch",
				    text);
	if (n < 0)
		return n;
	r = fill_event(&spec, parts, n, error);
	for (size_t i = 0; i < SPEC_MAX_PARTS; i++)
		free(parts[i]);
	if (r < 0)
		return r;
	*ret_spec = spec;
	spec = (struct event_spec){ 0 };
	return 0;
}

/* --- --hist ----------------------------------------------------------------------------------- */

void hist_spec_done(struct hist_spec *spec)
{
	free(spec->text);
	free(spec->name);
	free(spec->category);
	free(spec->field);
	*spec = (struct hist_spec){ 0 };
}

/* "read", "sys_exit_read", "malloc". */
static int fill_name(struct hist_spec *spec, const char *word, struct strbuf *error)
{
	const char *entered = spec_behind(word, "sys_enter_");
	const char *left = spec_behind(word, "sys_exit_");

	if (strcmp(word, "new") == 0)
		return config_error(error,
				    "invalid --hist '%s': expected malloc, from which operator "
				    "new takes its memory",
				    spec->text);
	if (entered)
		return config_error(error,
				    "invalid --hist '%s': expected %s for the result, or "
				    "%s:ARGUMENT",
				    spec->text, entered, entered);
	spec->what = spec_is_allocator(word) ? HIST_ALLOC : HIST_SYSCALL_RESULT;
	spec->name = strdup(left ? left : word);
	return spec->name ? 0 : -ENOMEM;
}

/* "read:count", "read:ns", "sys_enter_read:count", "sys_exit_read:ret". */
static int fill_pair(struct hist_spec *spec, const char *word, const char *what,
		     struct strbuf *error)
{
	const char *entered = spec_behind(word, "sys_enter_");
	const char *left = spec_behind(word, "sys_exit_");

	if (spec_is_allocator(word))
		return config_error(error,
				    "invalid --hist '%s': expected %s for the sizes that are "
				    "asked for; nothing else of it is counted",
				    spec->text, word);
	if (strcmp(word, "syscalls") == 0)
		return config_error(error,
				    "invalid --hist '%s': expected a field behind it, such as "
				    "syscalls:sys_exit_read:ret",
				    spec->text);
	if (left && strcmp(what, "ret") != 0)
		return config_error(error,
				    "invalid --hist '%s': the end of a system call has its "
				    "result only; give %s, %s:ARGUMENT or %s:ns",
				    spec->text, left, left, left);
	spec->name = strdup(entered ? entered : left ? left : word);
	if (!spec->name)
		return -ENOMEM;
	spec->what = HIST_SYSCALL_RESULT;
	if (!entered && strcmp(what, "ret") == 0) /* no argument is called so, or "ns" */
		return 0;
	spec->what = HIST_SYSCALL_NS;
	if (!entered && strcmp(what, "ns") == 0)
		return 0;
	spec->what = HIST_SYSCALL_ARG;
	spec->field = strdup(what);
	return spec->field ? 0 : -ENOMEM;
}

static int parse_what(struct hist_spec *spec, const char *text, size_t len, struct strbuf *error)
{
	char *parts[SPEC_MAX_PARTS] = { NULL };
	int n = spec_split(text, len, parts);
	int r = 0;

	if (n == -EINVAL)
		return config_error(error,
				    "invalid --hist '%s': expected SYSCALL, SYSCALL:ARGUMENT, "
				    "SYSCALL:ns, CATEGORY:EVENT:FIELD or malloc",
				    spec->text);
	if (n < 0)
		return n;
	if (n == 1) {
		r = fill_name(spec, parts[0], error);
	} else if (n == 2) {
		r = fill_pair(spec, parts[0], parts[1], error);
	} else {
		spec->what = HIST_FIELD;
		spec->category = TAKE_PTR(parts[0]);
		spec->name = TAKE_PTR(parts[1]);
		spec->field = TAKE_PTR(parts[2]);
	}
	for (size_t i = 0; i < SPEC_MAX_PARTS; i++)
		free(parts[i]);
	return r;
}

/* The number, with or without a minus, between `start` and `end`: 0 or negative errno. */
static int parse_bound(const char *start, const char *end, int64_t *ret)
{
	bool negative = *start == '-';
	const char *digits = start + negative;
	_cleanup_free_ char *word = NULL;
	uint64_t value;
	int r;

	if (digits >= end)
		return -EINVAL;
	word = strndup(digits, (size_t)(end - digits));
	if (!word)
		return -ENOMEM;
	r = parse_size(word, &value);
	if (r < 0)
		return r;
	if (value > INT64_MAX)
		return -ERANGE;
	*ret = negative ? -(int64_t)value : (int64_t)value;
	return 0;
}

/* "MIN-MAX/STEP": 0, -EINVAL, -ERANGE or -ENOMEM. */
static int parse_range(struct hist_spec *spec, const char *range)
{
	const char *dash = *range ? strchr(range + 1, '-') : NULL; /* behind MIN's own */
	const char *slash = strchr(range, '/');
	int r;

	if (!dash || !slash || slash < dash || slash[1] == '-')
		return -EINVAL;
	r = parse_bound(range, dash, &spec->min);
	if (r == 0)
		r = parse_bound(dash + 1, slash, &spec->max);
	if (r == 0)
		r = parse_bound(slash + 1, slash + strlen(slash), &spec->step);
	return r;
}

static int check_range(const struct hist_spec *spec, const char *range, struct strbuf *error)
{
	uint64_t span, step = (uint64_t)spec->step, buckets;

	if (spec->max <= spec->min)
		return config_error(error,
				    "'lin=%s' of '--hist' has no values: give a MAX above MIN in "
				    "lin=MIN-MAX/STEP",
				    range);
	if (step == 0)
		return config_error(error, "'lin=%s' of '--hist' has no width: give a STEP above 0",
				    range);
	span = (uint64_t)spec->max - (uint64_t)spec->min;
	buckets = span / step + (span % step != 0);
	if (buckets > HIST_MAX_LINEAR)
		return config_error(error,
				    "'lin=%s' of '--hist' makes %" PRIu64
				    " buckets, and %d are the "
				    "most: give a larger STEP",
				    range, buckets, HIST_MAX_LINEAR);
	if (span % step)
		return config_error(error,
				    "'lin=%s' of '--hist' ends within a bucket: give a STEP that "
				    "divides %" PRIu64,
				    range, span);
	return 0;
}

static int parse_linear(struct hist_spec *spec, const char *range, struct strbuf *error)
{
	int r;

	if (spec->linear)
		return config_error(error, "'%s' has 'lin=' twice: give it once", spec->text);
	spec->linear = true;
	r = parse_range(spec, range);
	if (r == -ERANGE)
		return config_error(error, "'lin=%s' of '--hist' has a number that is too large",
				    range);
	if (r == -EINVAL)
		return config_error(error,
				    "invalid 'lin=%s' of '--hist': expected lin=MIN-MAX/STEP, such "
				    "as lin=0-4k/64",
				    range);
	if (r < 0)
		return r;
	return check_range(spec, range, error);
}

static int parse_by(struct hist_spec *spec, const char *word, struct strbuf *error)
{
	if (spec->by != HIST_BY_NONE)
		return config_error(error, "'%s' has 'by=' twice: give it once", spec->text);
	if (strcmp(word, "comm") == 0)
		spec->by = HIST_BY_COMM;
	else if (strcmp(word, "pid") == 0)
		spec->by = HIST_BY_PID;
	else
		return config_error(error, "'by=%s' of '--hist' is unknown: give by=comm or by=pid",
				    word);
	return 0;
}

/* What stands between two commas behind the first. */
static int parse_setting(struct hist_spec *spec, const char *text, size_t len, struct strbuf *error)
{
	_cleanup_free_ char *word = strndup(text, len);

	if (!word)
		return -ENOMEM;
	if (strncmp(word, "lin=", 4) == 0)
		return parse_linear(spec, word + 4, error);
	if (strncmp(word, "by=", 3) == 0)
		return parse_by(spec, word + 3, error);
	return config_error(
		error,
		"'%s' in '%s' is unknown: give lin=MIN-MAX/STEP, by=comm or by=pid behind "
		"the comma",
		word, spec->text);
}

int hist_spec_parse(const char *text, struct hist_spec *ret_spec, struct strbuf *error)
{
	_cleanup_(hist_spec_done) struct hist_spec spec = { .text = strdup(text) };
	const char *end = strchrnul(text, ',');
	int r;

	if (!spec.text)
		return -ENOMEM;
	r = parse_what(&spec, text, (size_t)(end - text), error);
	while (r == 0 && *end == ',') {
		const char *setting = end + 1;

		end = strchrnul(setting, ',');
		r = parse_setting(&spec, setting, (size_t)(end - setting), error);
	}
	if (r < 0)
		return r;
	*ret_spec = spec;
	spec = (struct hist_spec){ 0 };
	return 0;
}
