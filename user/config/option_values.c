/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of options that no kind of key has: what rows of the option table apply. */
#include "config/option_table.h"
#include "config/units.h"
#include "config/where.h"
#include "config/words.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

/* --- what is traced --------------------------------------------------------------------------- */

static int add_pid_name(struct options *o, const char *name, size_t len)
{
	char **names = reallocarray(o->pid_names, o->n_pid_names + 1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	o->pid_names = names;
	names[o->n_pid_names] = strndup(name, len);
	return names[o->n_pid_names++] ? 0 : -ENOMEM;
}

#define PID_SEPARATORS ", \t\n"

/* The output of pidof and pgrep, too: process ids in words or lines. */
int option_pids(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	const char *at = value + strspn(value, PID_SEPARATORS);

	if (*at == '\0')
		return config_error(error,
				    "'%s' has no process: give process ids, or the name of one",
				    key->name);
	while (*at) {
		size_t len = strcspn(at, PID_SEPARATORS);
		uint64_t pid;
		int r = parse_digits(at, at + len, &pid);

		if (r == 0 && (pid == 0 || pid > INT_MAX))
			r = -ERANGE;
		if (r == -ERANGE || *at == '-')
			return config_error(error,
					    "invalid %s '%.*s': expected process ids, or the name "
					    "of a process",
					    key->name, (int)len, at);
		r = r < 0 ? add_pid_name(object, at, len) : options_add_pid(object, (pid_t)pid);
		if (r < 0)
			return r;
		at += len;
		at += strspn(at, PID_SEPARATORS);
	}
	return 0;
}

int option_command(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	_cleanup_strbuf_ struct strbuf quoted = { 0 };
	const char *operator= words_operator(value);
	struct options *o = object;
	int r;

	if (operator) {
		words_quote(&quoted, value);
		return strbuf_error(&quoted) ?
			       -ENOMEM :
			       config_error(error,
					    "'%s' runs no shell, which '%.*s' needs; use -- sh -c "
					    "%s, or quote it",
					    key->name,
					    (int)strspn(operator, WORDS_OPERATORS), operator,
					    strbuf_str(&quoted));
	}
	r = words_split(value, &o->command);
	if (r == -EINVAL)
		return config_error(error,
				    "invalid command of '%s': it is empty, or its end lacks a "
				    "quote or what a backslash escapes; quote it as for a shell",
				    key->name);
	return r;
}

int option_comm(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct options *o = object;
	int r;

	(void)key; /* sets its own field */
	if (!o->names)
		o->names = calloc(1, sizeof(*o->names));
	if (!o->names)
		return -ENOMEM;
	r = name_globs_add(o->names, value, error);
	return r == -ENOSPC ? -EINVAL : r;
}

int option_env(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	const char *equals = strchr(value, '=');

	if (!equals || equals == value)
		return key_refuse(key, value, error);
	return key_set(object, key, value, error);
}

/* --- what is counted -------------------------------------------------------------------------- */

int option_hist(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct options *o = object;
	struct hist_spec *hists;
	int r;

	(void)key; /* sets its own field */
	for (size_t i = 0; i < o->n_hists; i++)
		if (strcmp(o->hists[i].text, value) == 0)
			return config_error(error, "'--hist %s' is given twice: give it once",
					    value);
	hists = reallocarray(o->hists, o->n_hists + 1, sizeof(*hists));
	if (!hists)
		return -ENOMEM;
	o->hists = hists;
	r = hist_spec_parse(value, &hists[o->n_hists], error);
	o->n_hists += r == 0;
	return r;
}

/* Room for one more, which is not counted yet; NULL: no memory. */
static struct event_spec *more_events(struct options *o)
{
	struct event_spec *events = reallocarray(o->events, o->n_events + 1, sizeof(*events));

	if (!events)
		return NULL;
	o->events = events;
	return &events[o->n_events];
}

int option_event(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct options *o = object;
	struct event_spec *event = more_events(o);
	int r;

	(void)key; /* sets its own field */
	if (!event)
		return -ENOMEM;
	r = event_spec_parse(value, event, error);
	if (r < 0)
		return r;
	o->n_events++;
	for (size_t i = 0; i + 1 < o->n_events; i++)
		if (event_spec_equal(&o->events[i], event))
			return config_error(error,
					    "'-e %s' and '-e %s' are one event: give it once",
					    o->events[i].text, value);
	return 0;
}

#define MOST_HZ 10000
#define MOST_FAULTS 1000000000

/* A number of 1 to `most`. */
static bool is_rate(const char *value, uint64_t most, uint64_t *ret_number)
{
	return parse_digits(value, value + strlen(value), ret_number) == 0 && *ret_number > 0 &&
	       *ret_number <= most;
}

/* r: of what has filled more_events(). */
static int count_event(struct options *o, int r)
{
	o->n_events += r == 0;
	return r;
}

int option_cpu(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct event_spec *event = more_events(object);
	uint64_t hz;

	if (!event)
		return -ENOMEM;
	if (!is_rate(value, MOST_HZ, &hz))
		return key_refuse(key, value, error);
	return count_event(object, event_spec_cpu((uint32_t)hz, event));
}

int option_page_faults(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct event_spec *event = more_events(object);
	uint64_t period = 0; /* it adapts */

	if (!event)
		return -ENOMEM;
	if (value && !is_rate(value, MOST_FAULTS, &period))
		return key_refuse(key, value, error);
	return count_event(object, event_spec_page_faults((uint32_t)period, event));
}

int option_off_cpu(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct event_spec *event = more_events(object);

	(void)key, (void)value, (void)error; /* a flag, which cannot be wrong */
	return event ? count_event(object, event_spec_off_cpu(event)) : -ENOMEM;
}

int option_overhead(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct options *o = object;

	o->overhead_given = true;
	return key_set_limit(object, key, value, error);
}

int option_allocator(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct options *o = object;
	struct allocator_spec *allocators =
		reallocarray(o->allocators, o->n_allocators + 1, sizeof(*allocators));
	int r;

	(void)key; /* sets its own field */
	if (!allocators)
		return -ENOMEM;
	o->allocators = allocators;
	r = allocator_spec_parse(value, &allocators[o->n_allocators], error);
	o->n_allocators += r == 0;
	return r;
}

/* --- what is shown, and where ----------------------------------------------------------------- */

int option_where(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	_cleanup_strbuf_ struct strbuf why = { 0 };
	struct options *o = object;
	int r = where_parse(value, &o->where, &why);

	return r == -EINVAL ? config_error(error, "%s: %s", key->name, strbuf_str(&why)) : r;
}

/*
 * Is each percent sign of `path` one of %%, or % and a character of `known`? What would be taken
 * for itself today could mean something later.
 */
static int check_path(const struct key *key, const char *path, const char *known,
		      struct strbuf *error)
{
	for (; (path = strchr(path, '%')); path += 2)
		if (path[1] == '\0' || (path[1] != '%' && !strchr(known, path[1])))
			return config_error(error,
					    "'%s' knows no '%.2s' in a path: give %%p for the "
					    "process id, or %%%% for a percent sign",
					    key->name, path);
	return 0;
}

/* As Valgrind has them: %p, %n, %q{NAME}. */
static int check_text_path(const struct key *key, const char *path, struct strbuf *error)
{
	for (; (path = strchr(path, '%')); path += 2) {
		if (path[1] == 'q' && path[2] == '{' && strchr(path, '}')) {
			path = strchr(path, '}') - 1;
			continue;
		}
		if (path[1] == '\0' || !strchr("pn%", path[1]))
			return config_error(error,
					    "'%s' knows no '%.2s' in a path: give %%p for the "
					    "process id, %%q{NAME} for a variable of the "
					    "environment, or %%%% for a percent sign",
					    key->name, path);
	}
	return 0;
}

/* A struct text_target: the file, and no descriptor that was given before. */
int option_text_file(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct text_target *target = (void *)((char *)object + key->offset);
	int r = *value ? check_text_path(key, value, error) : key_refuse(key, value, error);

	if (r < 0)
		return r;
	free(target->path);
	*target = (struct text_target){ .path = strdup(value) };
	return target->path ? 0 : -ENOMEM;
}

int option_text_fd(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct text_target *target = (void *)((char *)object + key->offset);
	uint64_t fd;

	if (parse_digits(value, value + strlen(value), &fd) < 0 || fd == 0 || fd > INT_MAX)
		return key_refuse(key, value, error);
	free(target->path);
	*target = (struct text_target){ .fd = (uint32_t)fd };
	return 0;
}

#define VALGRIND_PORT 1500 /* of its valgrind-listener(1) */

/* "127.0.0.1:1500"; the port may be left out. */
int option_text_socket(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct text_target *target = (void *)((char *)object + key->offset), parsed = { 0 };
	size_t len = strcspn(value, ":");
	_cleanup_free_ char *addr = strndup(value, len);
	uint64_t port = VALGRIND_PORT;

	if (!addr)
		return -ENOMEM;
	if (inet_pton(AF_INET, addr, parsed.socket.addr) != 1 ||
	    (value[len] && parse_digits(value + len + 1, value + strlen(value), &port) < 0) ||
	    port == 0 || port > UINT16_MAX)
		return key_refuse(key, value, error);
	parsed.socket.port = (uint16_t)port;
	free(target->path);
	*target = parsed;
	return 0;
}

/* Room for an empty output at `index`, the later ones moved up; NULL: no memory. */
static struct option_output *insert_output(struct options *o, size_t index)
{
	struct option_output *outputs;

	outputs = reallocarray(o->outputs, o->n_outputs + 1, sizeof(*outputs));
	if (!outputs)
		return NULL;
	o->outputs = outputs;
	memmove(outputs + index + 1, outputs + index, (o->n_outputs - index) * sizeof(*outputs));
	o->n_outputs++;
	outputs[index] = (struct option_output){ 0 };
	return &outputs[index];
}

int option_format(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct option_output *output;

	if (*value == '\0' || *value == '-')
		return key_refuse(key, value, error);
	if (strchr(value, ':'))
		return config_error(error,
				    "'-f' writes to standard output and takes no path: give "
				    "'-o %s' for a file",
				    value);
	output = insert_output(object, 0);
	if (!output)
		return -ENOMEM;
	output->format = strdup(value);
	return output->format ? 0 : -ENOMEM;
}

int option_output(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	const char *colon = strchr(value, ':');
	struct options *o = object;
	struct option_output *output;
	int r;

	if (!colon || colon == value || colon[1] == '\0')
		return key_refuse(key, value, error);
	if (strcmp(value, "record:-") == 0)
		return config_error(error, "a recording needs a file: give '-o record:PATH'");
	if (strcmp(colon + 1, "-") == 0)
		return config_error(error,
				    "'-o' writes to a file: give '-f %.*s' for standard output",
				    (int)(colon - value), value);
	r = check_path(key, colon + 1, "ep", error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < o->n_outputs; i++)
		if (o->outputs[i].path && strcmp(o->outputs[i].path, colon + 1) == 0)
			return config_error(error, "two outputs go to '%s': give each its own path",
					    colon + 1);
	output = insert_output(o, o->n_outputs);
	if (!output)
		return -ENOMEM;
	output->format = strndup(value, (size_t)(colon - value));
	output->path = strdup(colon + 1);
	return output->format && output->path ? 0 : -ENOMEM;
}

/* --- of massif's format ----------------------------------------------------------------------- */

/* One to `most` digits at *s, which moves behind them. */
static bool parse_some_digits(const char **s, size_t most, uint32_t *ret)
{
	size_t n = strspn(*s, "0123456789");

	*ret = 0;
	for (size_t i = 0; n <= most && i < n; i++)
		*ret = *ret * 10 + (uint32_t)(*(*s)++ - '0');
	return n > 0 && n <= most;
}

int option_threshold(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct options *o = object;
	const char *at = value;
	uint32_t whole, part = 0;
	bool ok = parse_some_digits(&at, 3, &whole);

	if (ok && *at == '.') {
		const char *decimals = ++at;

		ok = parse_some_digits(&at, 2, &part);
		if (at == decimals + 1)
			part *= 10;
	}
	if (!ok || *at || whole * 100 + part > 10000)
		return key_refuse(key, value, error);
	o->massif.threshold = whole * 100 + part;
	return 0;
}

int option_time_unit(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	if (strcmp(value, "i") == 0)
		return config_error(error, "invalid --time-unit 'i' here, since "
					   "instructions are not counted: give ms or B");
	return key_set(object, key, value, error);
}

/* --- of ctl and sample ------------------------------------------------------------------------ */

int option_for(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	uint64_t ns;

	if (parse_duration(value, &ns) < 0 || ns % SECOND_NS)
		return key_refuse(key, value, error);
	return key_set(object, key, value, error);
}

#define SERVICE ".service"
#define MOST_OF_NAME 255 /* systemd's UNIT_NAME_MAX */

/* systemd.unit(5): letters, digits and ":-_.\", and "@" of instances. */
static bool is_unit_name(const char *name)
{
	if (*name == '\0' || *name == '.' || *name == '@' || strlen(name) > MOST_OF_NAME)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr(":-_.\\@", *name))
			return false;
	return true;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

int option_unit(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	static const char *const others[] = {
		".socket", ".timer", ".target", ".slice", ".scope",
		".mount",  ".path",  ".device", ".swap",  ".automount"
	};
	_cleanup_strbuf_ struct strbuf name = { 0 };

	if (!is_unit_name(value))
		return config_error(error, "invalid unit name '%s'", value);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ends_in(value, others[i]))
			return config_error(error, "'%s' runs no program: give a service", value);
	strbuf_addf(&name, "%s%s", value, ends_in(value, SERVICE) ? "" : SERVICE);
	if (strbuf_error(&name) < 0)
		return -ENOMEM;
	return key_set(object, key, strbuf_str(&name), error);
}

int option_unit_action(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	const struct options *o = object;

	if (o->sample_unit.what != SAMPLE_UNIT_WRITE)
		return config_error(error, "'sample' prints or removes: give one of them");
	return key_set(object, key, value, error);
}

/* --- help ------------------------------------------------------------------------------------- */

/* Without a value the topic is the next word, which options_parse() takes. */
int option_help(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct options *o = object;

	o->action = ACTION_HELP;
	return value ? key_set(object, key, value, error) : 0;
}

/* --- what Valgrind has, and we do not --------------------------------------------------------- */

static const char undefined[] =
	"whether a value was ever set is known to memcheck alone, which runs each instruction of "
	"the program itself: leave it out";
static const char kinds[] = "give '--show-leak-kinds' with the kinds";

static const struct {
	const char *name;
	const char *why;
} refused[] = {
	{ "undef-value-errors", undefined },
	{ "track-origins", undefined },
	{ "expensive-definedness-checks", undefined },
	{ "partial-loads-ok", undefined },
	{ "malloc-fill", undefined },
	{ "free-fill", "blocks are not written to: leave it out" },
	{ "show-reachable", kinds },
	{ "show-possibly-lost", kinds },
	{ "tool", "there is one tool: leave it out" },
	{ "trace-children", "children are traced: leave it out, or give --no-follow" },
	{ "child-silent-after-fork", "children are traced: leave it out, or give --no-follow" },
	{ "track-fds", "open files are not followed: leave it out; --syscalls shows those used" },
	{ "freelist-vol", "the program's own allocator is at work, which frees as usual: leave it "
			  "out" },
	{ "freelist-big-blocks",
	  "the program's own allocator is at work, which frees as usual: leave it out" },
	{ "redzone-size", "the program's own allocator is at work, without room between blocks: "
			  "leave it out" },
	{ "alignment", "the program's own allocator is at work: leave it out" },
	{ "keep-stacktraces", "the stacks of all live blocks are kept: leave it out" },
	{ "run-libc-freeres", "nothing is called in the program: what the C library holds is "
			      "suppressed by default, see --default-suppressions" },
	{ "run-cxx-freeres", "nothing is called in the program: what libstdc++ holds is "
			     "suppressed by default, see --default-suppressions" },
	{ "ignore-ranges", "all memory that the program can write is looked through: leave it "
			   "out" },
	{ "show-mismatched-frees", "mismatched frees are always shown: leave it out" },
	{ "vgdb", "there is no server within the program: SIGUSR1 to memtraced checks now" },
	{ "read-var-info", "errors name the block, not the variable: leave it out" },
	{ "detailed-freq", "each tenth snapshot is detailed, and those of the peak and the end: "
			   "leave it out" },
	{ "peak-inaccuracy", "the peak is exact: leave it out" },
	{ "massif-out-file", "give -o massif:FILE" },
	{ "pages-as-heap", "massif's format has no mappings here: leave it out" },
};

const char *option_refused(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (strlen(refused[i].name) == len && strncmp(refused[i].name, name, len) == 0)
			return refused[i].why;
	return NULL;
}
