/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/near_name.h"
#include "config/option_table.h"

#include <errno.h>
#include <string.h>

#define WIDTH 80
#define HELP_COLUMN 26

static const char summary[] =
	"Shows which code holds the memory of a program, without a restart or a rebuild.\n";

/* Of 80x24, with a line for the shell. */
static const char first_screen[] =
	"\n"
	"Usage: memtraced [OPTION]... PROGRAM [ARG]...\n"
	"       memtraced [OPTION]... -p PID\n"
	"\n"
	"  memtraced ./prog --port 80             what a program holds when it ends\n"
	"  memtraced -p 1234                      what a running process allocates\n"
	"  memtraced -p 1234 -i 10 --sort=growth  what grows, every ten seconds\n"
	"  memtraced --leak-check=full ./prog     lost blocks, as Valgrind shows them\n"
	"  memtraced --max-overhead=5% -p 1234    in production: for 5 % of its CPU time\n"
	"  memtraced -o record:run.rec ./prog     for later: memtraced report run.rec\n"
	"\n"
	"memtraced --help TOPIC, or an option such as --help top, says more:\n";

static const char usage[] = "Usage: memtraced -p PID|NAME [OPTION]...\n"
			    "       memtraced [OPTION]... [--] PROGRAM [ARG]...\n"
			    "       memtraced [OPTION]... -c 'PROGRAM ARGS'\n"
			    "       memtraced --cgroup PATH|-a JOB [OPTION]...\n";

/* Behind "Usage: memtraced". */
static const struct {
	const char *topic, *usage;
} usages[] = {
	{ "report", "report FILE [OPTION]..." },
	{ "diff", "diff BEFORE AFTER [OPTION]..." },
	{ "service", "--service [--config=FILE]" },
	{ "ctl", "ctl status|reports [NAME]" },
	{ "ctl", "ctl trace PID [--for=SEC] [--format=NAME] [--sample]" },
	{ "ctl", "ctl token [--for=SEC|--revoke]" },
	{ "sample", "sample --unit=NAME [--interval=SIZE|--exact] [--print|--remove]" },
	{ "valgrind", "valgrind [VALGRIND'S OPTIONS] PROGRAM [ARG]..." },
};

static const char values_of_jobs[] =
	"\n"
	"SPEC: SYSCALL (its result), SYSCALL:ARGUMENT, SYSCALL:ns (its time),\n"
	"CATEGORY:EVENT:FIELD, or malloc (sizes); behind it ,lin=MIN-MAX/STEP for buckets\n"
	"of one width, ,by=comm or ,by=pid. EVENT: SYSCALL or CATEGORY:EVENT.\n";

static const char values_of_where[] =
	"\n"
	"EXPR: comparisons by = != < <= > >=, with and, or, not and parentheses, of\n"
	"live, peak, allocated, size (bytes), blocks, allocs, pid, temporary (percent),\n"
	"oldest, newest, lifetime (times); function, file, object, process (= and !=,\n"
	"with * and ?); class (heap, mmap), growth (leak, growing, cache, steady), leak\n"
	"(definite, indirect, possible, reachable).\n";

static const char values[] =
	"\n"
	"SEC may have a fraction or a unit: 1.5, 100ms, 2m, 1h. SIZE: 4096, 64k, 1.5G.\n";

static const struct {
	const char *status, *meaning;
} statuses[] = {
	{ "the command's", "A command was run; 128 + N: signal N ended it." },
	{ "126", "The command was found, but cannot be executed." },
	{ "127", "The command was not found." },
	{ "0", "The trace of -p has ended, and its reports are written." },
	{ "1", "Wrong usage." },
	{ "2", "memtraced cannot trace, read a recording or write a report; or a leak check is "
	       "missing that --error-exitcode asks for." },
	{ "that of the option", "With --error-exitcode, a leak check found errors." },
	{ "141", "Standard output was closed." },
};

/* Adds `text` from HELP_COLUMN on, broken between words. */
static void add_wrapped(struct strbuf *out, const char *text)
{
	size_t column = HELP_COLUMN;
	bool first = true;

	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		if (!first && column + 1 + len > WIDTH) {
			strbuf_addf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (!first) {
			strbuf_addch(out, ' ');
			column++;
		}
		strbuf_add(out, text, len);
		column += len;
		text += len;
		text += strspn(text, " ");
		first = false;
	}
	strbuf_addch(out, '\n');
}

static void add_value(struct strbuf *out, const struct key *key)
{
	if (!key_takes_value(key))
		return;
	if (key->flags & OPTION_MAY) {
		strbuf_addf(out, "[=%s]", key->metavar);
		return;
	}
	strbuf_addch(out, key->name[1] == '-' ? '=' : ' ');
	if (key->metavar)
		strbuf_adds(out, key->metavar);
	else
		for (size_t i = 0; key->choices[i]; i++)
			strbuf_addf(out, "%s%s", i ? "|" : "", key->choices[i]);
}

static void add_option(struct strbuf *out, const struct key *key)
{
	size_t start = out->len, used;

	if (key->letter)
		strbuf_addf(out, "  -%c, %s", key->letter, key->name);
	else
		strbuf_addf(out, "%s%s", key->name[1] == '-' ? "      " : "  ", key->name);
	add_value(out, key);
	used = out->len - start;
	if (used + 2 > HELP_COLUMN) {
		strbuf_addch(out, '\n');
		used = 0;
	}
	strbuf_addf(out, "%*s", (int)(HELP_COLUMN - used), "");
	add_wrapped(out, key->help);
}

void options_help_row(struct strbuf *out, const char *name, const char *text)
{
	strbuf_addf(out, "  %-*s", HELP_COLUMN - 2, name);
	add_wrapped(out, text);
}

static void add_title(struct strbuf *out, const char *title)
{
	strbuf_addf(out, "%s%s:\n", out->len > 0 ? "\n" : "", title);
}

/* A topic whose rows are those below its title. */
static bool is_group(const struct option_topic *topic)
{
	for (size_t i = 0; i < option_keys.n; i++)
		if (strcmp(option_keys.keys[i].section, topic->title) == 0)
			return true;
	return false;
}

static void add_statuses(struct strbuf *out)
{
	add_title(out, "Exit status");
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		options_help_row(out, statuses[i].status, statuses[i].meaning);
}

static bool is_measured(const struct key *key)
{
	return key->kind == KEY_TIME || key->kind == KEY_SIZE;
}

/* Returns whether one of the options takes a time or a size. */
static bool add_options(struct strbuf *out, const struct option_topic *topic)
{
	const struct key_table *table = topic->table ? topic->table : &option_keys;
	bool any_measured = false;

	add_title(out, topic->title);
	for (size_t i = 0; i < table->n; i++) {
		const struct key *key = &table->keys[i];

		if ((key->flags & topic->flags) != topic->flags ||
		    (is_group(topic) && strcmp(key->section, topic->title) != 0))
			continue;
		add_option(out, key);
		any_measured |= is_measured(key);
	}
	return any_measured;
}

/* Those of `topic`; NULL: all. */
static void add_usages(struct strbuf *out, const char *topic)
{
	bool any = !topic;

	for (size_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++)
		if (!topic || strcmp(topic, usages[i].topic) == 0) {
			strbuf_addf(out, "%s memtraced %s\n",
				    any ? "      " : "Usage:", usages[i].usage);
			any = true;
		}
}

/* In two columns. */
static void add_first_screen(struct strbuf *out)
{
	size_t n = 0, half;

	while (option_topics[n].name)
		n++;
	half = (n + 1) / 2;
	strbuf_adds(out, summary);
	strbuf_adds(out, first_screen);
	for (size_t i = 0; i < half; i++) {
		const struct option_topic *left = &option_topics[i], *right = left + half;

		if (i + half < n)
			strbuf_addf(out, "  %-9s%-29s%-9s%s\n", left->name, left->title,
				    right->name, right->title);
		else
			strbuf_addf(out, "  %-9s%s\n", left->name, left->title);
	}
}

static void add_all(struct strbuf *out)
{
	strbuf_adds(out, usage);
	add_usages(out, NULL);
	strbuf_adds(out, summary);
	for (const struct option_topic *topic = option_topics; topic->name; topic++)
		if (is_group(topic) || topic->table)
			(void)add_options(out, topic); /* what is measured is said below */
	strbuf_adds(out, values_of_jobs);
	strbuf_adds(out, values_of_where);
	strbuf_adds(out, values);
}

static void add_topic(struct strbuf *out, const struct option_topic *topic)
{
	bool any_measured;

	add_usages(out, topic->name);
	any_measured = add_options(out, topic);
	if (strcmp(topic->name, "jobs") == 0)
		strbuf_adds(out, values_of_jobs);
	if (strcmp(topic->name, "filters") == 0 || topic->flags & OPTION_RECORDED)
		strbuf_adds(out, values_of_where);
	if (any_measured)
		strbuf_adds(out, values);
}

/* "where", "--where", "p", "-p" */
static const struct key *find_option(const char *name)
{
	name += strspn(name, "-");
	for (size_t i = 0; i < option_keys.n; i++) {
		const struct key *key = &option_keys.keys[i];

		if (strcmp(key->name + strspn(key->name, "-"), name) == 0 ||
		    (key->letter && name[0] == key->letter && name[1] == '\0'))
			return key;
	}
	return NULL;
}

static int refuse_topic(const char *topic, struct strbuf *error)
{
	_cleanup_strbuf_ struct strbuf all = {};
	struct near_name near;
	const char *meant;

	near_name_init(&near, topic);
	for (const struct option_topic *known = option_topics; known->name; known++) {
		strbuf_addf(&all, "%s%s", known > option_topics ? ", " : "", known->name);
		near_name_offer(&near, known->name);
	}
	meant = near_name_get(&near);
	strbuf_reset(error);
	if (meant)
		strbuf_addf(error, "no help on '%s'; did you mean '%s'?", topic, meant);
	else
		strbuf_addf(error, "no help on '%s'; give the name of an option, or %s", topic,
			    strbuf_str(&all));
	return strbuf_error(error) || strbuf_error(&all) ? -ENOMEM : -ENOENT;
}

bool options_help_formats(const char *topic)
{
	return topic &&
	       (strcmp(topic, OPTION_TOPIC_FORMATS) == 0 || strcmp(topic, OPTION_TOPIC_ALL) == 0);
}

int options_help(const char *topic, struct strbuf *out, struct strbuf *error)
{
	const struct option_topic *known = option_topics;
	const struct key *key;

	if (!topic) {
		add_first_screen(out);
	} else if (strcmp(topic, OPTION_TOPIC_ALL) == 0) {
		add_all(out);
	} else if (strcmp(topic, OPTION_TOPIC_FORMATS) != 0) {
		while (known->name && strcmp(known->name, topic) != 0)
			known++;
		key = find_option(topic);
		if (!known->name && !key)
			return refuse_topic(topic, error);
		if (known->name && strcmp(topic, OPTION_TOPIC_STATUS) != 0)
			add_topic(out, known);
		if (key && known->table) /* a subcommand and an option: sample */
			add_title(out, key->section);
		if (key && (known->table || !known->name))
			add_option(out, key);
		if (key && strcmp(key->name, "--where") == 0)
			strbuf_adds(out, values_of_where);
	}
	if (topic &&
	    (strcmp(topic, OPTION_TOPIC_STATUS) == 0 || strcmp(topic, OPTION_TOPIC_ALL) == 0))
		add_statuses(out);
	if (options_help_formats(topic))
		add_title(out, "Formats");
	return strbuf_error(out);
}
