/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/leak_options.h"

#include "config/output_options.h"
#include "config/units.h"

#include <errno.h>
#include <string.h>

#define MAX_CALLERS OPTIONS_MAX_STACK

static const char *const kind_names[] = { "definite", "indirect", "possible", "reachable", NULL };
static const char *const heuristic_names[] = { "stdstring", "length64", "newarray",
					       "multipleinheritance", NULL };

/* --- sets ------------------------------------------------------------------------------------ */

static int index_of(const char *const *names, const char *name, size_t len)
{
	for (int i = 0; names[i]; i++)
		if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
			return i;
	return -1;
}

/* "all", "none", or names with commas between, as a set of 1 << index. */
static int parse_set(const char *const *names, const char *value, uint32_t *ret)
{
	uint32_t set = 0;

	if (strcmp(value, "none") == 0 || strcmp(value, "all") == 0) {
		for (int i = 0; names[i] && *value == 'a'; i++)
			set |= 1U << i;
		*ret = set;
		return 0;
	}
	for (const char *at = value;; at++) {
		size_t len = strcspn(at, ",");
		int index = index_of(names, at, len);

		if (index < 0)
			return -EINVAL;
		set |= 1U << index;
		at += len;
		if (*at == '\0')
			break;
	}
	*ret = set;
	return 0;
}

static int apply_set(struct option_parser *p, const struct option_def *def, const char *value,
		     const char *const *names)
{
	_cleanup_strbuf_ struct strbuf list = { 0 };
	char spelling[OPTION_SPELLING_LEN];
	uint32_t *field = (uint32_t *)((char *)p->options + def->offset);

	if (parse_set(names, value, field) == 0)
		return 0;
	for (int i = 0; names[i]; i++)
		strbuf_addf(&list, "%s%s", i ? "," : "", names[i]);
	return option_error(p, "'%s' is no value of '%s': give all, none, or some of %s", value,
			    option_spelling(def, spelling), strbuf_str(&list));
}

int leak_apply_kinds(struct option_parser *p, const struct option_def *def, const char *value)
{
	return apply_set(p, def, value, kind_names);
}

int leak_apply_heuristics(struct option_parser *p, const struct option_def *def, const char *value)
{
	return apply_set(p, def, value, heuristic_names);
}

/* --- numbers --------------------------------------------------------------------------------- */

/* Decimal digits and nothing else, up to `max`; -1: it is no such number. */
static int64_t small_number(const char *value, uint64_t max)
{
	uint64_t n = 0;

	if (*value == '\0')
		return -1;
	for (const char *at = value; *at != '\0'; at++) {
		if (*at < '0' || *at > '9')
			return -1;
		n = n * 10 + (uint64_t)(*at - '0');
		if (n > max)
			return -1;
	}
	return (int64_t)n;
}

int leak_apply_num_callers(struct option_parser *p, const struct option_def *def, const char *value)
{
	int64_t n = small_number(value, MAX_CALLERS);

	(void)def; /* sets its own field */
	if (n < 1)
		return option_error(p, "'%s' is no value of '--num-callers': give 1 to %d", value,
				    MAX_CALLERS);
	p->options->leak.num_callers = (uint32_t)n;
	return 0;
}

int leak_apply_exitcode(struct option_parser *p, const struct option_def *def, const char *value)
{
	int64_t n = small_number(value, 255);

	(void)def; /* sets its own field */
	if (n < 0)
		return option_error(p,
				    "'%s' is no value of '--error-exitcode': give 1 to 255, or 0 "
				    "for none",
				    value);
	p->options->leak.error_exitcode = (int)n;
	return 0;
}

/* A number alone is milliseconds, as the option's name says. */
int leak_apply_max_stop(struct option_parser *p, const struct option_def *def, const char *value)
{
	uint64_t *field = &p->options->leak.max_stop_ns;
	int64_t ms = small_number(value, UINT32_MAX);

	(void)def; /* sets its own field */
	if (ms >= 0)
		*field = (uint64_t)ms * 1000000;
	else if (parse_duration(value, field) < 0)
		*field = 0;
	if (*field == 0)
		return option_error(p,
				    "'%s' is no value of '--max-stop': give milliseconds, or a "
				    "number with ms, s, m or h behind it",
				    value);
	return 0;
}

/* --- strings --------------------------------------------------------------------------------- */

static int add_word(char ***words, const char *value)
{
	size_t n = 0;
	char **more;

	while (*words && (*words)[n])
		n++;
	more = reallocarray(*words, n + 2, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*words = more;
	more[n] = strdup(value);
	more[n + 1] = NULL;
	return more[n] ? 0 : -ENOMEM;
}

int leak_apply_log_file(struct option_parser *p, const struct option_def *def, const char *value)
{
	char *copy;
	int r;

	(void)def; /* sets its own field */
	if (*value == '\0')
		return option_error(p, "'--log-file' needs a path; %%p in it is the process id");
	r = output_check_path(p, "--log-file", value, "p");
	if (r < 0)
		return r;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	free(p->options->leak.log_file);
	p->options->leak.log_file = copy;
	return 0;
}

int leak_apply_suppressions(struct option_parser *p, const struct option_def *def,
			    const char *value)
{
	(void)def; /* sets its own field */
	if (*value == '\0')
		return option_error(p, "'--suppressions' needs a file");
	return add_word(&p->options->leak.suppressions, value);
}

int leak_apply_at(struct option_parser *p, const struct option_def *def, const char *value)
{
	(void)def; /* sets its own field */
	if (*value == '\0')
		return option_error(p, "'--leak-check-at' needs the name of a function");
	return add_word(&p->options->leak.at, value);
}

/* --- what memcheck has, and we do not -------------------------------------------------------- */

static const char undefined[] =
	"whether a value was ever set is known to memcheck alone, which runs each instruction of "
	"the program itself: leave it out";
static const char kinds[] = "give '--show-leak-kinds' with the kinds";
static const char xml[] =
	"memcheck's XML is not written: give -f json, or -o json:PATH, which have all that is "
	"known";

static const struct {
	const char *name;
	const char *why;
} refused[] = {
	{ "xml", xml },
	{ "xml-file", xml },
	{ "xml-fd", xml },
	{ "xml-user-comment", xml },
	{ "xml-socket", xml },
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
};

const char *leak_option_refused(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (strlen(refused[i].name) == len && strncmp(refused[i].name, name, len) == 0)
			return refused[i].why;
	return NULL;
}
