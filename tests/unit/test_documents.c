/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The man pages and the completion, held to the tables of options and formats: run from the top of
 * the tree. The completion is asked as bash would ask it.
 */
#include "base/strbuf.h"
#include "config/option_table.h"
#include "config/service_config.h"
#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAN_PAGE "docs/man/memtraced.1"
#define CONFIG_PAGE "docs/man/memtraced.conf.5"
#define COMPLETION "docs/memtraced.bash"
#define EXAMPLE "systemd/memtraced.conf"

static void read_all(FILE *file, struct strbuf *text)
{
	char buf[4096];
	size_t n;

	assert_non_null(file);
	while ((n = fread(buf, 1, sizeof(buf), file)) > 0)
		strbuf_add(text, buf, n);
	assert_int_equal(strbuf_error(text), 0);
}

static void read_file(const char *path, struct strbuf *text)
{
	FILE *file = fopen(path, "re");

	read_all(file, text);
	assert_int_equal(fclose(file), 0);
}

/*
 * What bash offers behind `words` (a list of quoted words behind the program's name, of which the
 * last is being typed): one a line, with a newline in front of the first.
 */
static void complete(struct strbuf *offered, const char *words)
{
	_cleanup_strbuf_ struct strbuf script = { 0 };
	FILE *file;

	strbuf_addf(&script,
		    "exec bash --norc -c '. " COMPLETION "; COMP_WORDS=(memtraced %s); "
		    "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _memtraced; "
		    "printf \"%%s\\n\" \"\" \"${COMPREPLY[@]}\"'",
		    words);
	assert_int_equal(strbuf_error(&script), 0);
	strbuf_reset(offered);
	file = popen(strbuf_str(&script), "r");
	read_all(file, offered);
	assert_int_equal(pclose(file), 0);
}

static bool has_line(const struct strbuf *text, const char *line)
{
	_cleanup_strbuf_ struct strbuf wanted = { 0 };

	strbuf_addf(&wanted, "\n%s\n", line);
	assert_int_equal(strbuf_error(&wanted), 0);
	return strstr(strbuf_str(text), strbuf_str(&wanted)) != NULL;
}

static size_t count_lines(const struct strbuf *text)
{
	size_t n = 0;

	for (const char *at = strbuf_str(text); *at; at++)
		n += *at == '\n';
	return n - 1;
}

/* The words that the completion must offer for the options with `flags`; returns how many. */
static size_t expect_options(const struct strbuf *offered, unsigned int flags)
{
	size_t n = 0;

	for (size_t i = 0; i < option_keys.n; i++) {
		const struct key *key = &option_keys.keys[i];
		bool is_long = key->name[1] == '-';
		char word[64];

		if ((key->flags & flags) != flags)
			continue;
		if (key->letter) {
			(void)snprintf(word, sizeof(word), "-%c", key->letter); /* fits */
			if (!has_line(offered, word))
				fail_msg("the completion lacks %s", word);
			n++;
		}
		(void)snprintf(word, sizeof(word), "%s%s", key->name,
			       is_long && key_takes_value(key) && !(key->flags & OPTION_MAY) ?
				       "=" :
				       ""); /* fits */
		if (!has_line(offered, word))
			fail_msg("the completion lacks %s", word);
		n++;
	}
	return n;
}

static void the_completion_offers_the_options_of_the_table_and_no_others(void **state)
{
	_cleanup_strbuf_ struct strbuf offered = { 0 };

	(void)state;
	complete(&offered, "-");
	/* "--", which begins a command, is no row */
	assert_true(has_line(&offered, "--"));
	assert_int_equal(count_lines(&offered), expect_options(&offered, 0) + 1);
}

static void behind_report_only_the_options_of_reports_are_offered(void **state)
{
	_cleanup_strbuf_ struct strbuf offered = { 0 };

	(void)state;
	complete(&offered, "report file -");
	assert_int_equal(count_lines(&offered), expect_options(&offered, OPTION_FOR_REPORT));
}

static void behind_diff_only_the_options_of_diffs_are_offered(void **state)
{
	_cleanup_strbuf_ struct strbuf offered = { 0 };

	(void)state;
	complete(&offered, "diff before after -");
	assert_int_equal(count_lines(&offered), expect_options(&offered, OPTION_FOR_DIFF));
}

static void the_completion_offers_the_values_of_the_table(void **state)
{
	_cleanup_strbuf_ struct strbuf offered = { 0 }, words = { 0 };

	(void)state;
	for (size_t i = 0; i < option_keys.n; i++) {
		const struct key *key = &option_keys.keys[i];
		size_t n = 0;

		if (key->kind != KEY_CHOICE)
			continue;
		strbuf_reset(&words);
		strbuf_addf(&words, "%s =", key->name);
		complete(&offered, strbuf_str(&words));
		for (; key->choices[n]; n++)
			if (!has_line(&offered, key->choices[n]))
				fail_msg("%s lacks %s", key->name, key->choices[n]);
		assert_int_equal(count_lines(&offered), n);
	}
}

static void the_completion_offers_the_formats_that_there_are(void **state)
{
	_cleanup_strbuf_ struct strbuf to_stdout = { 0 }, to_file = { 0 };
	size_t n;
	const struct report_format *formats = report_formats(&n);

	(void)state;
	complete(&to_stdout, "-f \"\"");
	complete(&to_file, "-o \"\"");
	for (size_t i = 0; i < n; i++) {
		char word[64];

		assert_true(has_line(&to_stdout, formats[i].name));
		(void)snprintf(word, sizeof(word), "%s:", formats[i].name); /* fits */
		assert_true(has_line(&to_file, word));
	}
	assert_int_equal(count_lines(&to_stdout), n);
	/* A recording goes to files only. */
	assert_true(has_line(&to_file, "record:"));
	assert_int_equal(count_lines(&to_file), n + 1);
}

static void behind_the_value_of_an_option_options_are_offered_again(void **state)
{
	_cleanup_strbuf_ struct strbuf offered = { 0 }, words = { 0 };

	(void)state;
	for (size_t i = 0; i < option_keys.n; i++) {
		const struct key *key = &option_keys.keys[i];

		if (!key_takes_value(key) || (key->flags & OPTION_MAY))
			continue;
		strbuf_reset(&words);
		strbuf_addf(&words, "%s value --feat", key->name);
		complete(&offered, strbuf_str(&words));
		if (!has_line(&offered, "--features"))
			fail_msg("the completion takes the value of %s for a command", key->name);
	}
}

/* Is the word, or the word and a full stop, among those from `at` to `end`? */
static bool has_word(const char *at, const char *end, const char *word)
{
	size_t len = strlen(word);

	while (at < end) {
		size_t n = strcspn(at, " ,;:()\n");

		if (memcmp(at, word, n < len ? n : len) == 0 &&
		    (n == len || (n == len + 1 && at[len] == '.')))
			return true;
		at += n + 1;
	}
	return false;
}

static void the_topics_of_help_are_completed_and_in_the_man_page(void **state)
{
	_cleanup_strbuf_ struct strbuf offered = { 0 }, page = { 0 }, heading = { 0 };
	const char *item, *end;
	size_t n = 0;

	(void)state;
	complete(&offered, "--help \"\"");
	read_file(MAN_PAGE, &page);
	item = strstr(strbuf_str(&page), "\n.It Fl h , Fl Fl help");
	assert_non_null(item);
	end = strstr(item, "\n.El");
	for (const struct option_topic *topic = option_topics; topic->name; topic++, n++) {
		if (!has_line(&offered, topic->name))
			fail_msg("the completion of --help lacks %s", topic->name);
		if (!has_word(item, end, topic->name))
			fail_msg("the man page lacks the topic %s", topic->name);
	}
	assert_int_equal(count_lines(&offered), n);
	/* Groups of options are headed as there, but for what stands in parentheses. */
	for (size_t i = 0; i < option_keys.n; i++) {
		const char *title = option_keys.keys[i].section;
		const char *more = strstr(title, " (");

		strbuf_reset(&heading);
		strbuf_addf(&heading, ".Ss %.*s",
			    (int)(more ? (size_t)(more - title) : strlen(title)), title);
		assert_int_equal(strbuf_error(&heading), 0);
		if (!has_line(&page, strbuf_str(&heading)))
			fail_msg("the man page lacks the line '%s'", strbuf_str(&heading));
	}
}

static void split_words_are_completed(void **state)
{
	static const struct {
		const char *words, *offered;
	} cases[] = {
		{ "re", "\nreport\n" },
		{ "di", "\ndiff\n" },
		{ "diff user/main", "\nuser/main.c\n" },
		{ "ctl st", "\nstatus\n" },
		{ "ctl to", "\ntoken\n" },
		{ "ctl token --re", "\n--revoke\n" },
		{ "ctl trace 1 --fo", "\n--for=\n--format=\n" },
		{ "--sort = pe", "\npeak\n" },
		{ "--sort pe", "\npeak\n" },
		{ "-o json : user/main", "\nuser/main.c\n" },
		{ "report user/main", "\nuser/main.c\n" },
		{ "-- echo user/main", "\nuser/main.c\n" },
		{ "./user/mai", "\n" }, /* no program */
		{ "./scripts/check-lay", "\n./scripts/check-layers\n" },
		{ "-d 1 --top = 3 -o json : x echo user/main", "\nuser/main.c\n" },
		{ "echo -p --sort user/main", "\nuser/main.c\n" },
		{ "-p /", "\n" }, /* no pid */
		{ "-i 1", "\n" }, /* a number is the user's own */
	};
	_cleanup_strbuf_ struct strbuf offered = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		complete(&offered, cases[i].words);
		assert_string_equal(strbuf_str(&offered), cases[i].offered);
	}
}

/* `item` of the man page says what holds where the option, or its value, is left out. */
static void expect_default(const struct key *key, const char *item)
{
	const char *value = key->fallback ? key->fallback : key->implied;
	const char *next = strstr(item + 1, "\n.It "), *end = strstr(item + 1, "\n.El");
	const char *at;
	char word[64];

	if (!value)
		return;
	if (next && next < end)
		end = next;
	at = strstr(item, "efault");
	if (!at || at > end)
		fail_msg("the man page says nothing of the default of %s", key->name);
	for (at = value; *at; at += strspn(at, ",")) {
		(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, ","), at); /* fits */
		if (!has_word(item, end, word))
			fail_msg("the man page lacks the default %s of %s", word, key->name);
		at += strlen(word);
	}
}

static void help_says_the_defaults_of_the_table_and_no_others(void **state)
{
	/* They depend on something. */
	static const char *const others[] = { "--page-faults",	   "--log-file",
					      "--run-as",	   "-d",
					      "--config",	   "--max-blocks",
					      "--sample-interval", "--keep-ended" };
	char words[64];

	(void)state;
	for (size_t i = 0; i < option_keys.n; i++) {
		const struct key *key = &option_keys.keys[i];
		const char *value = key->fallback ? key->fallback : key->implied;
		bool depends = false;

		for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
			depends |= strcmp(others[k], key->name) == 0;
		(void)snprintf(words, sizeof(words), "default: %s", value ? value : ""); /* fits */
		if ((strstr(key->help, words) != NULL) != (value || depends))
			fail_msg("--help lacks, or has, '%s' of %s", words, key->name);
	}
}

static void expect_items(const char *path, const struct key_table *keys)
{
	_cleanup_strbuf_ struct strbuf page = { 0 };

	read_file(path, &page);
	for (size_t i = 0; i < keys->n; i++) {
		const struct key *key = &keys->keys[i];
		char item[64];
		const char *at;

		if (key->letter)
			(void)snprintf(item, sizeof(item), "\n.It Fl %c , Fl Fl %s", key->letter,
				       key->name + 2); /* fits */
		else if (key->name[1] == '-')
			(void)snprintf(item, sizeof(item), "\n.It Fl Fl %s",
				       key->name + 2); /* fits */
		else
			(void)snprintf(item, sizeof(item), "\n.It Fl %c", key->name[1]);
		at = strstr(strbuf_str(&page), item);
		if (!at || !strchr(" =\n", at[strlen(item)]))
			fail_msg("%s lacks the line '%s'", path, item + 1);
		expect_default(key, at);
	}
}

static void the_man_pages_have_an_item_for_each_option(void **state)
{
	(void)state;
	expect_items(MAN_PAGE, &option_keys);
	expect_items(MAN_PAGE, &sample_keys);
	expect_items("docs/man/memtraced-ctl.1", &ctl_keys);
	expect_items("docs/man/valgrind-memtraced.1", &valgrind_keys);
}

static void the_man_page_has_an_item_for_each_format(void **state)
{
	_cleanup_strbuf_ struct strbuf page = { 0 };
	size_t n;
	const struct report_format *formats = report_formats(&n);

	(void)state;
	read_file(MAN_PAGE, &page);
	for (size_t i = 0; i < n; i++) {
		char item[64];

		(void)snprintf(item, sizeof(item), ".It Cm %s", formats[i].name); /* fits */
		if (!has_line(&page, item))
			fail_msg("the man page lacks the line '%s'", item);
	}
}

static const struct {
	const struct key_table *keys;
	const char *name; /* of sections that have one: so they are headed in the documents */
} tables[] = { { &service_keys, "" }, { &rule_keys, " NAME" }, { &push_keys, " NAME" } };
#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

/* The line of the example that gives the key, in its section; NULL: there is none. */
static const char *example_of(const char *section, const struct key *key)
{
	size_t len = strlen(key->name);

	for (const char *at = strchr(section, '\n'); at; at = strchr(at + 1, '\n')) {
		const char *name = at + (at[1] == '#' ? 2 : 1);

		if (*name == '[')
			return NULL;
		if (strncmp(name, key->name, len) == 0 && strncmp(name + len, " = ", 3) == 0)
			return name + len + 3;
	}
	return NULL;
}

static void the_example_configuration_has_each_key_with_its_default(void **state)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	(void)state;
	read_file(EXAMPLE, &text);
	for (size_t i = 0; i < N_TABLES; i++) {
		for (size_t k = 0; k < tables[i].keys->n; k++) {
			const struct key *key = &tables[i].keys->keys[k];
			char head[64];
			const char *section, *value;

			(void)snprintf(head, sizeof(head), "[%s%c", key->section,
				       *tables[i].name ? ' ' : ']'); /* fits */
			section = strstr(strbuf_str(&text), head);
			value = section ? example_of(section, key) : NULL;
			if (!value)
				fail_msg("the example lacks [%s] %s", key->section, key->name);
			if (key->fallback &&
			    (strncmp(value, key->fallback, strlen(key->fallback)) != 0 ||
			     !strchr(" \n", value[strlen(key->fallback)])))
				fail_msg("[%s] %s is %.10s, not %s", key->section, key->name, value,
					 key->fallback);
		}
	}
}

/* The item of a section's list, up to `end`, that names the key. */
static const char *item_of(const char *at, const char *end, const char *name)
{
	while (at && at < end) {
		const char *next = strchr(at + 1, '\n');

		if (strncmp(at, "\n.It Cm ", 8) == 0 && has_word(at + 8, next, name))
			return at + 1;
		at = next;
	}
	return NULL;
}

static const char *first_of(const char *a, const char *b)
{
	return a && (!b || a < b) ? a : b;
}

static bool has_default(const char *at, const char *end, const char *fallback)
{
	while ((at = strstr(at, "default: ")) && at < end) {
		const char *line = strchr(at, '\n');

		at += strlen("default: ");
		if (has_word(at, line, fallback))
			return true;
	}
	return false;
}

static void the_man_page_has_each_key_of_the_configuration_and_its_default(void **state)
{
	_cleanup_strbuf_ struct strbuf page = { 0 };

	(void)state;
	read_file(CONFIG_PAGE, &page);
	for (size_t i = 0; i < N_TABLES; i++) {
		for (size_t k = 0; k < tables[i].keys->n; k++) {
			const struct key *key = &tables[i].keys->keys[k];
			const char *section, *end, *at;
			char head[64];

			(void)snprintf(head, sizeof(head), "\n.Ss [%s%s]\n", key->section,
				       tables[i].name); /* fits */
			section = strstr(strbuf_str(&page), head);
			assert_non_null(section);
			section += strlen(head) - 1;
			end = first_of(strstr(section, "\n.Ss "), strstr(section, "\n.Sh "));
			at = item_of(section, end, key->name);
			if (!at)
				fail_msg("the man page lacks [%s] %s", key->section, key->name);
			end = first_of(strstr(at, "\n.It "), strstr(at, "\n.El"));
			if (key->fallback && !has_default(at, end, key->fallback))
				fail_msg("the man page lacks 'default: %s' of [%s] %s",
					 key->fallback, key->section, key->name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_completion_offers_the_options_of_the_table_and_no_others),
		cmocka_unit_test(behind_report_only_the_options_of_reports_are_offered),
		cmocka_unit_test(behind_diff_only_the_options_of_diffs_are_offered),
		cmocka_unit_test(the_completion_offers_the_values_of_the_table),
		cmocka_unit_test(the_completion_offers_the_formats_that_there_are),
		cmocka_unit_test(behind_the_value_of_an_option_options_are_offered_again),
		cmocka_unit_test(the_topics_of_help_are_completed_and_in_the_man_page),
		cmocka_unit_test(split_words_are_completed),
		cmocka_unit_test(help_says_the_defaults_of_the_table_and_no_others),
		cmocka_unit_test(the_man_pages_have_an_item_for_each_option),
		cmocka_unit_test(the_man_page_has_an_item_for_each_format),
		cmocka_unit_test(the_example_configuration_has_each_key_with_its_default),
		cmocka_unit_test(the_man_page_has_each_key_of_the_configuration_and_its_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
