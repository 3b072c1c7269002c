/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memtraced takes each of its command lines in README, the guide and the man page, and each part of
 * its configuration in the guide. Run from the top of the tree. tests/live/test_documents.py runs
 * the commands and compares their output.
 */
#include "config/service_config.h"
#include "tests/unit/parse_words.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "memtraced "

/* Replaces each `from` that is a word, or what stands from it to `end`. */
static void replace(char *line, const char *from, const char *end, char to)
{
	for (char *at = line; (at = strstr(at, from)); at++) {
		char *behind = end ? strstr(at, end) : at + strlen(from) - 1;

		assert_non_null(behind);
		*at = to;
		memmove(at + 1, behind + 1, strlen(behind));
	}
}

/* A command of a shell, with its comment and what it is joined to; false: it is only named. */
static bool check_command(const char *text, size_t len)
{
	_cleanup_free_ char *line = strndup(text, len);
	char *end, *second;

	assert_non_null(line);
	replace(line, "\\-", NULL, '-'); /* of a man page */
	replace(line, "$(", ")", '1');
	replace(line, "PID", NULL, '1');
	end = strstr(line, "  #");
	if (end)
		*end = '\0';
	end = (char *)words_operator(line);
	if (end)
		*end = '\0';
	second = line + strlen(PROGRAM);
	if (*second != '-' && *second != '.' && !strchr(second, ' '))
		return false;
	options_free(parse_line(line));
	return true;
}

/* The command that a line of code is, behind a prompt or sudo; NULL: it is output. */
static const char *command_of(const char *line)
{
	const char *at = line + strspn(line, " ");

	if (strncmp(at, "# ", 2) == 0 || strncmp(at, "$ ", 2) == 0)
		at += 2;
	else if (strncmp(at, "sudo ", 5) == 0)
		at += 5;
	else
		return NULL;
	return strncmp(at, PROGRAM, strlen(PROGRAM)) == 0 ? at : NULL;
}

static size_t check_markdown_line(const char *line, bool in_fence)
{
	size_t n = 0;

	if (in_fence || strncmp(line, "    ", 4) == 0) {
		const char *command = command_of(line);

		return command && check_command(command, strcspn(command, "\n"));
	}
	for (const char *at = line; (at = strchr(at, '`'));) {
		size_t len = strcspn(++at, "`\n");

		if (strncmp(at, PROGRAM, strlen(PROGRAM)) == 0)
			n += check_command(at, len);
		at += len + (at[len] == '`');
	}
	return n;
}

static size_t check_man_line(const char *line)
{
	size_t len = strcspn(line, "\n");

	if (strncmp(line, ".Dl # " PROGRAM, strlen(".Dl # " PROGRAM)) == 0)
		return check_command(line + strlen(".Dl # "), len - strlen(".Dl # "));
	if (strncmp(line, ".Ql " PROGRAM, strlen(".Ql " PROGRAM)) != 0)
		return 0;
	while (len > 0 && strchr(" .,", line[len - 1]))
		len--;
	return check_command(line + strlen(".Ql "), len - strlen(".Ql "));
}

/* How many commands the document has. */
static size_t check_document(const char *path)
{
	FILE *file = fopen(path, "re");
	bool is_man = path[strlen(path) - 1] != 'd', in_fence = false;
	char *line = NULL;
	size_t size = 0, n = 0;

	assert_non_null(file);
	while (getline(&line, &size, file) >= 0) {
		if (strncmp(line, "```", 3) == 0)
			in_fence = !in_fence;
		n += is_man ? check_man_line(line) : check_markdown_line(line, in_fence);
	}
	free(line);
	assert_int_equal(fclose(file), 0);
	return n;
}

static size_t check_documents(const char *pattern)
{
	size_t n = 0;
	glob_t found;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		n += check_document(found.gl_pathv[i]);
	globfree(&found);
	return n;
}

/* Sections of the service's configuration, which stand up to a blank line: how many paragraphs. */
static size_t check_configuration(const char *path)
{
	_cleanup_strbuf_ struct strbuf error = { 0 }, text = { 0 };
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0, n = 0;

	assert_non_null(file);
	while (getline(&line, &size, file) >= 0) {
		const struct service_config *config = NULL;

		if (strncmp(line, "    [", 5) == 0 || (text.len && strncmp(line, "    ", 4) == 0)) {
			if (strstr(line, " #") && line[4] != '#')
				fail_msg("a comment that is part of the value: %s", line);
			strbuf_adds(&text, line + 4);
			continue;
		}
		if (text.len && strncmp(strbuf_str(&text), "[Service]", 9) != 0) {
			if (service_config_parse(strbuf_str(&text), text.len, path, &config,
						 &error) != 0)
				fail_msg("%s\n%s", strbuf_str(&error), strbuf_str(&text));
			service_config_unref(config);
			n++;
		}
		strbuf_reset(&text);
	}
	free(line);
	assert_int_equal(fclose(file), 0);
	return n;
}

static void each_configuration_of_the_guide_is_taken(void **state)
{
	(void)state;
	assert_in_range(check_configuration("docs/guide/service.md"), 5, 50);
}

static void each_command_of_the_readme_is_taken(void **state)
{
	(void)state;
	assert_in_range(check_documents("README.md"), 20, 200);
}

static void each_command_of_the_guide_is_taken(void **state)
{
	(void)state;
	assert_in_range(check_documents("docs/guide/*.md"), 30, 500);
}

static void each_command_of_the_man_page_is_taken(void **state)
{
	(void)state;
	assert_in_range(check_documents("docs/man/*.[158]"), 8, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_command_of_the_readme_is_taken),
		cmocka_unit_test(each_command_of_the_guide_is_taken),
		cmocka_unit_test(each_command_of_the_man_page_is_taken),
		cmocka_unit_test(each_configuration_of_the_guide_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
