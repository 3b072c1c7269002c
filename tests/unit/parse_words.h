/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words behind the program's name, NULL behind the last, as options. */
#ifndef TESTS_UNIT_PARSE_WORDS_H
#define TESTS_UNIT_PARSE_WORDS_H

#include "config/options.h"

#define MAX_ARGS 12

static inline int parse(const char *const *words, struct options **ret_options,
			struct strbuf *error)
{
	char *argv[MAX_ARGS + 2] = { "memtraced" };
	int argc = 1;

	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)words[argc - 1]; /* is not written to */
	return options_parse(argc, argv, ret_options, error);
}

#endif
