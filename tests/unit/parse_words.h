/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words behind the program's name, NULL behind the last, as options. */
#ifndef TESTS_UNIT_PARSE_WORDS_H
#define TESTS_UNIT_PARSE_WORDS_H

#include "base/strbuf.h"
#include "config/options.h"
#include "config/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX_ARGS 16

static inline int parse(const char *const *words, struct options **ret_options,
			struct strbuf *error)
{
	char *argv[MAX_ARGS + 2] = { "memtraced" };
	int argc = 1;

	for (; words[argc - 1]; argc++) {
		assert_in_range(argc, 1, MAX_ARGS);
		argv[argc] = (char *)words[argc - 1]; /* is not written to */
	}
	return options_parse(argc, argv, ret_options, error);
}

/* A line of a document, whose first word is the program's name; a failure if it is refused. */
static inline struct options *parse_line(const char *line)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct options *o = NULL;
	char **words = NULL;

	if (words_split(line, &words) != 0)
		fail_msg("cannot be split into words: %s", line);
	if (parse((const char *const *)words + 1, &o, &error) != 0)
		fail_msg("%s: %s", line, strbuf_str(&error));
	words_free(words);
	return o;
}

#endif
