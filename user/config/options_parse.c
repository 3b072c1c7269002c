/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/near_name.h"
#include "config/option_parser.h"
#include "config/units.h"
#include "config/where.h"
#include "config/words.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static int apply_option(struct option_parser *p, const struct key *key, const char *value)
{
	bool *seen = &p->seen[key - p->table->keys];

	if ((key->flags & OPTION_ONCE) && *seen)
		return config_error(p->error, "'%s' is given twice: give it once", key->name);
	*seen = true;
	return key_apply(p->options, key, value, p->error);
}

/* Applies an option whose value, if it takes one, is the next word. */
static int apply_with_next_word(struct option_parser *p, const struct key *key)
{
	if (!key_takes_value(key) || (key->flags & OPTION_MAY))
		return apply_option(p, key, NULL);
	if (p->next >= p->argc)
		return config_error(p->error,
				    "'%s' needs a value behind it; see 'memtraced --help %s'",
				    key->name, p->table == &option_keys ? key->name : key->section);
	return apply_option(p, key, p->argv[p->next++]);
}

/* `name` is `len` bytes of the argument, without dashes. */
static int unknown_option(struct option_parser *p, const char *dashes, const char *name, size_t len)
{
	const struct key *keys = p->table->keys, *end = keys + p->table->n;
	const char *why = p->table == &option_keys ? option_refused(name, len) : NULL;
	_cleanup_free_ char *copy = strndup(name, len);
	_cleanup_strbuf_ struct strbuf all = { 0 };
	struct near_name near;
	const char *meant;

	if (!copy)
		return -ENOMEM;
	if (why)
		return config_error(p->error, "'%s%s' is not there: %s", dashes, copy, why);
	near_name_init(&near, copy);
	for (const struct key *key = keys; key < end; key++)
		if (key->name[1] == '-')
			near_name_offer(&near, key->name + 2);
	meant = near_name_get(&near);
	if (meant)
		return config_error(p->error, "unknown option '%s%s'; did you mean '--%s'?", dashes,
				    copy, meant);
	if (p->table == &option_keys)
		return config_error(p->error, "unknown option '%s%s'; see 'memtraced --help all'",
				    dashes, copy);
	for (const struct key *key = keys; key < end; key++)
		strbuf_addf(&all, "%s%s", key > keys ? ", " : "", key->name);
	return strbuf_error(&all) ? -ENOMEM :
				    config_error(p->error, "unknown option '%s%s'; '%s' has %s",
						 dashes, copy, keys->section, strbuf_str(&all));
}

static int parse_long(struct option_parser *p, const char *name)
{
	size_t len = strcspn(name, "=");
	const struct key *key = option_find_long(p->table, name, len);

	if (!key)
		return unknown_option(p, "--", name, len);
	if (name[len] == '\0')
		return apply_with_next_word(p, key);
	if (!key_takes_value(key))
		return config_error(p->error, "'%s' takes no value: leave out '%s'", key->name,
				    name + len);
	return apply_option(p, key, name + len + 1);
}

/* "-v", "-vq", "-p5", "-vp5"; or, its value in the next word, "-p". */
static int parse_short(struct option_parser *p, const char *letters)
{
	for (const char *at = letters; *at != '\0'; at++) {
		const struct key *key = option_find_short(p->table, *at);
		int r;

		if (!key) /* maybe a long one behind a single dash: look at all of the word */
			return at == letters ? unknown_option(p, "-", letters, strlen(letters)) :
					       unknown_option(p, "-", at, 1);
		if (key_takes_value(key) && at[1] != '\0')
			return apply_option(p, key, at + 1);
		r = apply_with_next_word(p, key);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- words that are no option ----------------------------------------------------------------- */

/* From CTL_STATUS on. */
static const char *const verbs[] = { "status", "trace", "reports", "token" };
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int parse_verb(struct option_parser *p, const char *word)
{
	const char *meant;
	int i = near_name_find(verbs, N_VERBS, word, &meant);

	if (i >= 0) {
		p->options->ctl.verb = (enum ctl_verb)(i + CTL_STATUS);
		return 0;
	}
	if (meant)
		return config_error(p->error, "'ctl' does not know '%s'; did you mean '%s'?", word,
				    meant);
	return config_error(p->error,
			    "'ctl' does not know '%s': expected status, trace PID, reports or "
			    "token",
			    word);
}

static int parse_word_of_ctl(struct option_parser *p, const char *word)
{
	struct ctl_options *ctl = &p->options->ctl;
	uint64_t pid;

	if (ctl->verb == CTL_NONE)
		return parse_verb(p, word);
	if (ctl->verb == CTL_TRACE && ctl->pid == 0) {
		if (parse_digits(word, word + strlen(word), &pid) < 0 || pid == 0 || pid > INT_MAX)
			return config_error(p->error, "invalid process id '%s' of 'ctl trace'",
					    word);
		ctl->pid = (pid_t)pid;
		return 0;
	}
	if (ctl->verb == CTL_REPORTS && !ctl->name) {
		ctl->name = strdup(word);
		return ctl->name ? 0 : -ENOMEM;
	}
	return config_error(p->error, "unexpected argument '%s' behind 'ctl %s'", word,
			    verbs[ctl->verb - CTL_STATUS]);
}

/* A file behind `report` or `diff`, of which there are `n`. */
static int parse_file(struct option_parser *p, char **files, size_t n, const char *word)
{
	size_t i = 0;

	while (i < n && files[i])
		i++;
	if (i == n)
		return config_error(p->error, "unexpected argument '%s': %s", word,
				    n == 1 ? "'report' reads one file" :
					     "'diff' compares two files");
	files[i] = strdup(word);
	return files[i] ? 0 : -ENOMEM;
}

/* Words that begin a command line of their own. */
static const char *const subcommands[] = { "report", "diff", "ctl", "sample", "valgrind" };
enum subcommand { SUB_REPORT, SUB_DIFF, SUB_CTL, SUB_SAMPLE, SUB_VALGRIND, N_SUBCOMMANDS };

/* All words from the next one on are a command. */
static int parse_command(struct option_parser *p)
{
	size_t n = (size_t)(p->argc - p->next);

	if (p->report || p->diff)
		return config_error(p->error, "'%s' starts no command: leave out '--'",
				    p->report ? "report" : "diff");
	if (p->options->command)
		return config_error(p->error, "'-c' and '--' both give a command: leave one out");
	if (n == 0)
		return config_error(p->error, "no command behind '--'");
	return option_take_command(p);
}

/* The first word that is neither an option nor a subcommand. */
static int parse_program(struct option_parser *p, const char *word)
{
	uint64_t number;
	bool is_pid = parse_digits(word, word + strlen(word), &number) == 0;

	if (p->options->command)
		return config_error(p->error,
				    "unexpected argument '%s': quote all of the command behind -c, "
				    "or give it behind --",
				    word);
	/* As in -p $(pidof PROGRAM). */
	if (is_pid && p->options->n_pids)
		return number > 0 && number <= INT_MAX ?
			       options_add_pid(p->options, (pid_t)number) :
			       config_error(p->error, "unexpected argument '%s': not a process id",
					    word);
	if (is_pid)
		return config_error(p->error,
				    "unexpected argument '%s': give a process id behind -p, a "
				    "program of that name behind --",
				    word);
	p->next--;
	return parse_command(p);
}

const char *options_near_subcommand(const char *word)
{
	const char *meant = NULL; /* stays that of a subcommand itself */

	(void)near_name_find(subcommands, N_SUBCOMMANDS, word, &meant);
	return meant;
}

static int parse_subcommand(struct option_parser *p, enum subcommand sub)
{
	struct options *o = p->options;

	p->report = sub == SUB_REPORT;
	p->diff = sub == SUB_DIFF;
	if (p->report || p->diff)
		return 0;
	if (p->next != 2)
		return config_error(p->error,
				    "'%s' must be the first word; a program of that name is run "
				    "by 'memtraced -- %s'",
				    subcommands[sub], subcommands[sub]);
	o->action = sub == SUB_CTL ? ACTION_CTL : ACTION_SAMPLE_UNIT;
	p->table = sub == SUB_CTL ? &ctl_keys : &sample_keys;
	return 0;
}

static int parse_bare_word(struct option_parser *p, const char *word)
{
	struct options *o = p->options;

	if (o->action == ACTION_CTL)
		return parse_word_of_ctl(p, word);
	if (o->action == ACTION_SAMPLE_UNIT)
		return config_error(p->error,
				    "unexpected argument '%s': 'sample' takes options "
				    "alone",
				    word);
	if (p->diff)
		return parse_file(p, o->diff_files, 2, word);
	if (p->report)
		return parse_file(p, &o->report_file, 1, word);
	for (int i = 0; i < N_SUBCOMMANDS; i++)
		if (strcmp(word, subcommands[i]) == 0)
			return parse_subcommand(p, (enum subcommand)i);
	return parse_program(p, word);
}

static bool ends_parsing(const struct option_parser *p)
{
	return p->options->action == ACTION_HELP || p->options->action == ACTION_VERSION;
}

static int parse_words(struct option_parser *p)
{
	int r = 0;

	while (r == 0 && p->next < p->argc && !ends_parsing(p)) {
		const char *word = p->argv[p->next++];

		if (strcmp(word, "--") == 0 && p->table == &option_keys)
			r = parse_command(p); /* to the end */
		else if (strncmp(word, "--", 2) == 0)
			r = parse_long(p, word + 2);
		else if (word[0] == '-' && word[1] != '\0')
			r = parse_short(p, word + 1);
		else
			r = parse_bare_word(p, word);
	}
	return r;
}

/* What --help is about: the subcommand before it, or the next word. */
static int set_help_topic(struct option_parser *p)
{
	const char *topic = p->table == &ctl_keys    ? "ctl" :
			    p->table == &sample_keys ? "sample" :
			    p->report		     ? "report" :
			    p->diff		     ? "diff" :
						       NULL;

	if (p->options->action != ACTION_HELP || p->options->help_topic)
		return 0;
	if (!topic && p->next < p->argc)
		topic = p->argv[p->next];
	if (!topic)
		return 0;
	p->options->help_topic = strdup(topic);
	return p->options->help_topic ? 0 : -ENOMEM;
}

int options_parse(int argc, char *const *argv, struct options **ret_options, struct strbuf *error)
{
	_cleanup_(options_free_p) struct options *options = NULL;
	struct option_parser p = {
		.table = &option_keys, .argc = argc, .argv = argv, .next = 1, .error = error
	};
	int r;

	if (options_valgrind_words(argc, argv))
		return options_parse_valgrind(NULL, argc, argv, ret_options, error);
	r = options_new(&options);
	if (r < 0)
		return r;
	p.options = options;
	r = parse_words(&p);
	if (r == 0)
		r = set_help_topic(&p);
	if (r == 0)
		r = option_keep_own_words(&p, 1);
	if (r == 0 && !ends_parsing(&p))
		r = options_check(&p);
	if (r < 0)
		return r;
	*ret_options = TAKE_PTR(options);
	return 0;
}
