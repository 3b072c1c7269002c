/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valgrind's command line (its manual, 2.6 and 2.7): options with their values behind "=", then the
 * program; before them the words of .valgrindrc and VALGRIND_OPTS.
 */
#include "base/cleanup.h"
#include "base/glob.h"
#include "config/near_name.h"
#include "config/option_parser.h"
#include "config/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINK_NAME "valgrind-memtraced"

int options_valgrind_words(int argc, char *const *argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;

	if (argc > 0 && strcmp(slash ? slash + 1 : argv[0], LINK_NAME) == 0)
		return 1;
	return argc > 1 && strcmp(argv[1], "valgrind") == 0 ? 2 : 0;
}

/* --- one option ------------------------------------------------------------------------------- */

static int option_of_other_tool(struct option_parser *p, const char *word)
{
	static const char *const names[] = { "memcheck", "massif", "dhat" };

	return config_error(p->error,
			    "'%.*s' is not an option of %s: leave it out, or give it to its own "
			    "tool alone, as --memcheck:NAME",
			    (int)strcspn(word, "="), word, names[p->options->valgrind.tool]);
}

static int unknown_valgrind_option(struct option_parser *p, const char *word, const char *name,
				   size_t len)
{
	_cleanup_free_ char *copy = strndup(name, len);
	struct near_name near;
	const char *meant;

	if (!copy)
		return -ENOMEM;
	near_name_init(&near, copy);
	for (size_t i = 0; i < valgrind_keys.n; i++)
		if (valgrind_keys.keys[i].name[1] == '-')
			near_name_offer(&near, valgrind_keys.keys[i].name + 2);
	valgrind_options_offer(&near);
	meant = near_name_get(&near);
	if (meant)
		return config_error(p->error, "unknown option '%.*s'; did you mean '--%s'?",
				    (int)strcspn(word, "="), word, meant);
	return config_error(p->error, "unknown option '%.*s'; see 'memtraced --help valgrind'",
			    (int)strcspn(word, "="), word);
}

static int apply_valgrind_key(struct option_parser *p, const struct key *key, const char *word,
			      const char *value)
{
	if (key_takes_value(key) && !value)
		return config_error(p->error, "'%s' needs a value behind '=', as %s=%s", word, word,
				    key->metavar ? key->metavar : key->choices[0]);
	if (!key_takes_value(key) && value)
		return config_error(p->error, "'%s' takes no value: leave out '%s'", key->name,
				    value - 1);
	return key_apply(p->options, key, value, p->error);
}

/* What asks for nothing misses nothing. */
static int note_ignored(struct options *o, const char *name, size_t len, const char *value)
{
	_cleanup_strbuf_ struct strbuf all = { 0 };

	if (value && (strcmp(value, "no") == 0 || strcmp(value, "none") == 0))
		return 0;
	if (o->valgrind.ignored)
		strbuf_addf(&all, "%s, ", o->valgrind.ignored);
	strbuf_addf(&all, "--%.*s", (int)len, name);
	if (strbuf_error(&all) < 0)
		return strbuf_error(&all);
	free(o->valgrind.ignored);
	o->valgrind.ignored = strdup(strbuf_str(&all));
	return o->valgrind.ignored ? 0 : -ENOMEM;
}

/* `name`: behind the dashes and the tool. */
static int parse_long_option(struct option_parser *p, const char *word, const char *name)
{
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	const struct key *row = option_find_long(&valgrind_keys, name, len);
	uint32_t tools = row ? valgrind_key_tools(row) : 0;
	enum valgrind_option what = VALGRIND_SHARED;

	if (!row) {
		what = valgrind_option_find(name, len, &tools);
		row = what == VALGRIND_SHARED ? option_find_long(&option_keys, name, len) : NULL;
	}
	if (what == VALGRIND_UNKNOWN)
		return unknown_valgrind_option(p, word, name, len);
	if (!(tools & 1U << p->options->valgrind.tool))
		return option_of_other_tool(p, word);
	if (what == VALGRIND_IGNORED)
		return note_ignored(p->options, name, len, value);
	return row ? apply_valgrind_key(p, row, word, value) : 0;
}

/* "memcheck" of "--memcheck:leak-check=full", of which `name` is behind the dashes. */
static size_t tool_prefix(const char *name)
{
	size_t len = strcspn(name, ":=");

	return name[len] == ':' ? len : 0;
}

static bool is_of_tool(const struct option_parser *p, const char *name, size_t len)
{
	const char *tool =
		option_find_long(&valgrind_keys, "tool", 4)->choices[p->options->valgrind.tool];

	return strlen(tool) == len && memcmp(tool, name, len) == 0;
}

static int parse_valgrind_word(struct option_parser *p, const char *word)
{
	size_t prefix;

	if (strncmp(word, "--", 2) == 0) {
		prefix = tool_prefix(word + 2);
		if (prefix && !is_of_tool(p, word + 2, prefix))
			return 0;
		return parse_long_option(p, word, word + 2 + (prefix ? prefix + 1 : 0));
	}
	if (strcmp(word, "-d") == 0)
		return 0;
	for (size_t i = 0; word[0] == '-' && word[1] && !word[2] && i < valgrind_keys.n; i++) {
		const struct key *key = &valgrind_keys.keys[i];

		if (key->letter == word[1] || (key->name[1] == word[1] && !key->name[2]))
			return key_apply(p->options, key, NULL, p->error);
	}
	return unknown_valgrind_option(p, word, word, strcspn(word, "="));
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Until then it is not known which options there are. */
static int choose_tool(struct option_parser *p, const char *word)
{
	static const char option[] = "--tool=";

	return strncmp(word, option, strlen(option)) == 0 ? parse_valgrind_word(p, word) : 0;
}

static int parse_valgrind_words(struct option_parser *p, char *const *before, int end,
				int (*take)(struct option_parser *p, const char *word))
{
	int r = 0;

	for (; r == 0 && before && *before; before++)
		r = take(p, *before);
	for (int i = p->next; r == 0 && i < end; i++)
		r = take(p, p->argv[i]);
	return r;
}

/* The index of what follows the options, "--" or the program. */
static int end_of_options(const struct option_parser *p)
{
	int end = p->next;

	while (end < p->argc && p->argv[end][0] == '-' && strcmp(p->argv[end], "--") != 0)
		end++;
	return end;
}

static int add_output(struct options *o, const char *format, const char *path, struct strbuf *error)
{
	_cleanup_strbuf_ struct strbuf value = { 0 };

	strbuf_addf(&value, "%s:%s", format, path);
	return strbuf_error(&value) < 0 ? -ENOMEM :
					  option_output(o, option_find_short(&option_keys, 'o'),
							strbuf_str(&value), error);
}

static int set_xtree_memory(struct options *o, struct strbuf *error)
{
	const char *file = o->valgrind.xtree_memory_file;

	if (!o->valgrind.xtree_memory)
		return 0;
	if (!file)
		file = "xtmemory.kcg.%p";
	return add_output(o, glob_match("*.ms", file, strlen(file)) ? "massif" : "callgrind", file,
			  error);
}

/* glibc has one byte for both, which is ~ of what it hands blocks out with. */
static int set_fills(struct options *o, struct strbuf *error)
{
	const struct key *env = option_find_long(&option_keys, "env", strlen("env"));
	int handed_out = o->valgrind.malloc_fill, freed = o->valgrind.free_fill;
	const char *before = getenv("GLIBC_TUNABLES");
	_cleanup_strbuf_ struct strbuf value = { 0 };
	int r = 0;

	if (handed_out < 0 && freed < 0)
		return 0;
	if (handed_out >= 0 && freed >= 0 && freed != (handed_out ^ 0xff))
		r = note_ignored(o, "free-fill", strlen("free-fill"), NULL);
	strbuf_addf(&value,
		    "GLIBC_TUNABLES=%s%sglibc.malloc.perturb=%d:glibc.malloc.tcache_count=0",
		    before ? before : "", before && *before ? ":" : "",
		    handed_out >= 0 ? handed_out ^ 0xff : freed);
	if (strbuf_error(&value) < 0)
		return strbuf_error(&value);
	return r < 0 ? r : key_set(o, env, strbuf_str(&value), error);
}

static int set_output(struct options *o, struct strbuf *error)
{
	static const struct {
		const char *format, *file;
	} outputs[] = {
		[VALGRIND_MASSIF] = { "massif", "massif.out.%p" },
		[VALGRIND_DHAT] = { "dhat", "dhat.out.%p" },
	};
	const char *file = o->valgrind.out_file;

	if (o->valgrind.tool == VALGRIND_MEMCHECK)
		return 0;
	return add_output(o, outputs[o->valgrind.tool].format,
			  file ? file : outputs[o->valgrind.tool].file, error);
}

/* What holds in place of the defaults of memtraced's own command line. */
static int set_defaults(struct options *o, struct strbuf *error)
{
	bool is_memcheck = o->valgrind.tool == VALGRIND_MEMCHECK;
	int r;

	o->valgrind.on = true;
	o->quiet = o->valgrind.verbosity < 2;
	o->verbose = !o->quiet;
	o->no_exec = !o->valgrind.trace_children;
	o->heap_errors = is_memcheck;
	o->leak.shape = o->valgrind.verbosity > 0 ? LEAK_SHAPE_VALGRIND : LEAK_SHAPE_QUIET;
	o->leak.error_list |= o->valgrind.verbosity > 1;
	if (!is_memcheck)
		o->leak.mode = LEAK_CHECK_NO;
	else if (o->leak.xml.on)
		o->leak.mode = LEAK_CHECK_FULL;
	r = set_output(o, error);
	if (r == 0)
		r = set_xtree_memory(o, error);
	return r == 0 ? set_fills(o, error) : r;
}

static int parse_all_words(struct option_parser *p, char *const *before)
{
	int end = end_of_options(p), r = parse_valgrind_words(p, before, end, choose_tool);

	if (r == 0)
		r = parse_valgrind_words(p, before, end, parse_valgrind_word);
	if (r < 0 || p->options->action != ACTION_TRACE)
		return r;
	p->next = end < p->argc && strcmp(p->argv[end], "--") == 0 ? end + 1 : end;
	if (p->next >= p->argc)
		return config_error(p->error, "no program: give one behind the options");
	r = option_take_command(p);
	return r == 0 ? set_defaults(p->options, p->error) : r;
}

/* Those of files come first. */
static int add_before(char *const *before, struct options *o)
{
	size_t n = 0, n_own = 0;
	char **words;

	while (before && before[n])
		n++;
	while (o->own_words[n_own])
		n_own++;
	words = calloc(n + n_own + 1, sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		words[i] = strdup(before[i]);
		if (!words[i]) {
			words_free(words);
			return -ENOMEM;
		}
	}
	memcpy(words + n, o->own_words, n_own * sizeof(*words));
	free(o->own_words);
	o->own_words = words;
	return 0;
}

/* "--command-line-only=yes" on the command line, of which the last one holds. */
static bool command_line_alone(const struct option_parser *p)
{
	static const char option[] = "--command-line-only=";
	bool alone = false;

	for (int i = p->next, end = end_of_options(p); i < end; i++)
		if (strncmp(p->argv[i], option, strlen(option)) == 0)
			alone = strcmp(p->argv[i] + strlen(option), "yes") == 0;
	return alone;
}

int options_parse_valgrind(char *const *before, int argc, char *const *argv,
			   struct options **ret_options, struct strbuf *error)
{
	_cleanup_(options_free_p) struct options *options = NULL;
	struct option_parser p = { .table = &valgrind_keys,
				   .argc = argc,
				   .argv = argv,
				   .next = options_valgrind_words(argc, argv),
				   .error = error };
	int first = p.next, r = options_new(&options);

	if (r == 0)
		r = key_table_init(&valgrind_keys, options);
	if (r < 0)
		return r;
	options->valgrind.verbosity = 1;
	options->valgrind.malloc_fill = options->valgrind.free_fill = -1;
	p.options = options;
	if (command_line_alone(&p))
		before = NULL;
	r = parse_all_words(&p, before);
	if (r == 0)
		r = option_keep_own_words(&p, first);
	if (r == 0)
		r = add_before(before, options);
	if (r == 0 && options->action == ACTION_TRACE)
		r = options_check(&p);
	if (r < 0)
		return r;
	options->valgrind.on = true;
	*ret_options = TAKE_PTR(options);
	return 0;
}
