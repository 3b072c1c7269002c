/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of --help. */
#include "config/option_table.h"
#include "config/where.h"
#include "tests/unit/parse_words.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void get(const char *topic, struct strbuf *help)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };

	strbuf_reset(help);
	if (options_help(topic, help, &error) != 0)
		fail_msg("%s", strbuf_str(&error));
	assert_int_equal(strbuf_error(help), 0);
}

/* Lines of 80 columns at most, none of which ends in blanks: how many. */
static size_t count_lines(const struct strbuf *help)
{
	size_t len, n = 0;

	for (const char *line = strbuf_str(help); *line != '\0'; line += len + 1, n++) {
		len = strcspn(line, "\n");
		if (len > 80 || (len > 0 && line[len - 1] == ' '))
			fail_msg("too long, or ends in blanks: %.*s", (int)len, line);
		assert_true(line[len] == '\n');
	}
	return n;
}

/* Has `help` the option's row? */
static bool has_row(const struct strbuf *help, const char *name)
{
	for (const char *at = strbuf_str(help); (at = strstr(at, name)); at++)
		if (at[-1] == ' ' && (at[-2] == ' ' || at[-2] == ',') &&
		    strchr(" =[\n", at[strlen(name)]))
			return true;
	return false;
}

static void the_first_screen_is_one_of_80_by_24_with_six_examples_that_parse(void **state)
{
	_cleanup_strbuf_ struct strbuf help = { 0 };
	size_t n = 0;

	(void)state;
	get(NULL, &help);
	assert_in_range(count_lines(&help), 15, 23); /* and the prompt */
	for (const char *at = strbuf_str(&help); (at = strstr(at, "\n  memtraced ")); at++, n++) {
		_cleanup_free_ char *line = strndup(at + 3, strcspn(at + 3, "\n"));
		char *gap = line ? strstr(line, "  ") : NULL;

		assert_non_null(gap);
		*gap = '\0';
		options_free(parse_line(line));
	}
	assert_int_equal(n, 6);
	for (const struct option_topic *topic = option_topics; topic->name; topic++)
		assert_non_null(strstr(strbuf_str(&help), topic->title));
}

static void the_whole_help_has_a_row_for_each_option(void **state)
{
	const struct key_table *const tables[] = { &option_keys, &ctl_keys, &sample_keys };
	_cleanup_strbuf_ struct strbuf help = { 0 };

	(void)state;
	get("all", &help);
	assert_true(count_lines(&help) > option_keys.n);
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (size_t i = 0; i < tables[t]->n; i++)
			if (!has_row(&help, tables[t]->keys[i].name))
				fail_msg("not in the help: %s", tables[t]->keys[i].name);
}

static void each_option_is_a_row_of_its_topic_and_of_no_other(void **state)
{
	_cleanup_strbuf_ struct strbuf help = { 0 };
	size_t n_groups = 0;

	(void)state;
	for (const struct option_topic *topic = option_topics; topic->name; topic++) {
		bool is_group = false;

		for (size_t i = 0; i < option_keys.n; i++)
			is_group |= strcmp(option_keys.keys[i].section, topic->title) == 0;
		get(topic->name, &help);
		assert_true(count_lines(&help) > 0);
		for (size_t i = 0; is_group && i < option_keys.n; i++) {
			const struct key *key = &option_keys.keys[i];

			assert_int_equal(has_row(&help, key->name),
					 strcmp(key->section, topic->title) == 0);
		}
		n_groups += is_group;
	}
	for (size_t i = 0; i < option_keys.n; i++)
		n_groups -= i == 0 || strcmp(option_keys.keys[i].section,
					     option_keys.keys[i - 1].section) != 0;
	assert_int_equal(n_groups, 0); /* each group is a topic */
	get("report", &help);
	assert_true(has_row(&help, "--where") && !has_row(&help, "--pid"));
	get("ctl", &help);
	assert_true(has_row(&help, "--revoke") && !has_row(&help, "--top"));
	get("sample", &help); /* a subcommand and an option */
	assert_true(has_row(&help, "--unit") && has_row(&help, "--sample"));
	get("status", &help);
	assert_non_null(strstr(strbuf_str(&help), "  127  "));
}

static void an_option_is_a_topic(void **state)
{
	static const char *const names[] = { "pid", "--pid", "p", "-p" };
	_cleanup_strbuf_ struct strbuf help = { 0 }, error = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		get(names[i], &help);
		assert_true(has_row(&help, "--pid"));
		assert_in_range(count_lines(&help), 1, 4);
	}
	strbuf_reset(&help);
	assert_int_equal(options_help("filter", &help, &error), -ENOENT);
	assert_string_equal(strbuf_str(&error), "no help on 'filter'; did you mean 'filters'?");
	assert_int_equal(options_help("", &help, &error), -ENOENT);
	assert_string_equal(
		strbuf_str(&error),
		"no help on ''; give the name of an option, or targets, jobs, leaks, start, "
		"times, filters, output, tracing, service, other, report, diff, ctl, "
		"sample, valgrind, formats, status, all");
	assert_int_equal(help.len, 0);
}

static void filters_are_explained_with_all_their_fields(void **state)
{
	static const char *const topics[] = { "where", "filters", "all" };
	_cleanup_strbuf_ struct strbuf help = { 0 }, error = { 0 };
	struct where *where;
	char *fields, *rest;

	(void)state;
	assert_int_equal(where_parse("qqqqqqqq = 1", &where, &error), -EINVAL);
	fields = strstr(strbuf_str(&error), "fields are: ");
	assert_non_null(fields);
	for (char *field = strtok_r(fields + strlen("fields are: "), " ", &rest); field;
	     field = strtok_r(NULL, " ", &rest))
		for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
			get(topics[i], &help);
			if (!strstr(strbuf_str(&help), field))
				fail_msg("not in --help %s: %s", topics[i], field);
		}
	count_lines(&help);
}

static void help_is_about_the_next_word_or_the_subcommand_before_it(void **state)
{
	static const struct {
		const char *line, *topic;
	} cases[] = {
		{ "memtraced --help", NULL },	       { "memtraced -h", NULL },
		{ "memtraced -p1 --help", NULL },      { "memtraced --help all", "all" },
		{ "memtraced --help=jobs", "jobs" },   { "memtraced -h --where", "--where" },
		{ "memtraced -vh top x", "top" },      { "memtraced report --help", "report" },
		{ "memtraced diff a -h b", "diff" },   { "memtraced ctl trace 1 --help", "ctl" },
		{ "memtraced sample -h x", "sample" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(options_free_p) struct options *o = parse_line(cases[i].line);

		assert_int_equal(o->action, ACTION_HELP);
		if (!cases[i].topic)
			assert_null(o->help_topic);
		else
			assert_string_equal(o->help_topic, cases[i].topic);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_screen_is_one_of_80_by_24_with_six_examples_that_parse),
		cmocka_unit_test(the_whole_help_has_a_row_for_each_option),
		cmocka_unit_test(each_option_is_a_row_of_its_topic_and_of_no_other),
		cmocka_unit_test(an_option_is_a_topic),
		cmocka_unit_test(filters_are_explained_with_all_their_fields),
		cmocka_unit_test(help_is_about_the_next_word_or_the_subcommand_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
