/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What options_parse.c or valgrind_parse.c has read when options_check.c looks at all of it
 * together, and what both use.
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
	int own_end;		/* that of the command's first word; 0: there is none */
	bool seen[OPTION_ROWS]; /* rows of the table that were given */
	bool report, diff;
};

/* All but the defaults of valgrind_keys. 0 or -ENOMEM. */
int options_new(struct options **ret_options);

/* By its long name of `len` bytes, without dashes, or by its letter; NULL: there is none. */
const struct key *option_find_long(const struct key_table *table, const char *name, size_t len);
const struct key *option_find_short(const struct key_table *table, char letter);

/* All words from the next one on are the command. 0 or -ENOMEM. */
int option_take_command(struct option_parser *p);
/* Keeps the words from `first` on that are not the command's. 0 or -ENOMEM. */
int option_keep_own_words(struct option_parser *p, int first);

/* What only all options together can say, and what follows from them. 0 or config_error's. */
int options_check(struct option_parser *p);

#endif
