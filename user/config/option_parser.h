/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What options_parse.c has read when options_check.c looks at all of it together.
 */
#ifndef MEMTRACED_CONFIG_OPTION_PARSER_H
#define MEMTRACED_CONFIG_OPTION_PARSER_H

#include "config/option_table.h"

struct option_parser {
	struct options *options; /* being filled */
	struct strbuf *error;
	const struct key_table *table;
	int argc;
	char *const *argv;
	int next;		/* index of the next word */
	bool seen[OPTION_ROWS]; /* rows of the table that were given */
	bool report, diff;
};

/* What only all options together can say, and what follows from them. 0 or config_error's. */
int options_check(struct option_parser *p);

#endif
