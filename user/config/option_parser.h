/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the rows of the option table are, and what their functions work on. For the table, for the
 * files that hold such functions, and for the parser.
 */
#ifndef MEMTRACED_CONFIG_OPTION_PARSER_H
#define MEMTRACED_CONFIG_OPTION_PARSER_H

#include "config/options.h"

#define OPTION_FOR_REPORT (1U << 0)   /* has a meaning for `memtraced report` */
#define OPTION_ONCE (1U << 1)	      /* a second one is an error; else the last one holds */
#define OPTION_TARGET (1U << 2)	      /* says what to trace */
#define OPTION_CHILD (1U << 3)	      /* needs a command that memtraced starts */
#define OPTION_ALLOC (1U << 4)	      /* has a meaning only where allocations are traced */
#define OPTION_EVENT (1U << 5)	      /* needs -e */
#define OPTION_MAY (1U << 6)	      /* the value, behind "=", may be left out */
#define OPTION_LEAK (1U << 7)	      /* needs --leak-check */
#define OPTION_FOR_DIFF (1U << 8)     /* has a meaning for `memtraced diff` */
#define OPTION_DIFF (1U << 9)	      /* has one there alone */
#define OPTION_FOR_SERVICE (1U << 10) /* has a meaning for --service */
#define OPTION_MEMORY (1U << 11)      /* has one only where allocations or mappings are traced */
#define OPTION_GROWTH (1U << 12)      /* has one only where these or page faults are traced */
#define OPTION_RECORDED (OPTION_FOR_REPORT | OPTION_FOR_DIFF)

#define OPTION_ROWS 96 /* at most */

enum option_group {
	GROUP_TARGET,
	GROUP_JOBS,
	GROUP_LEAKS,
	GROUP_CHILD,
	GROUP_WHEN,
	GROUP_FILTER,
	GROUP_OUTPUT,
	GROUP_TRACING,
	GROUP_SERVICE,
	GROUP_OTHER,
	N_OPTION_GROUPS,
};

struct option_parser {
	struct options *options; /* being filled */
	struct strbuf *error;
	int argc;
	char *const *argv;
	int next;		/* index of the next word */
	bool seen[OPTION_ROWS]; /* rows of the table that were given */
	bool report, diff;
};

struct option_def {
	char short_name;       /* '\0': none */
	const char *long_name; /* NULL: none */
	enum option_group group;
	unsigned int flags;
	const char *metavar;	    /* what help calls the value; NULL: see choices */
	const char *const *choices; /* the values, NULL-terminated; NULL, no metavar: takes none */
	/* Takes the value (NULL for a flag) over; 0, or option_error's result. */
	int (*apply)(struct option_parser *p, const struct option_def *def, const char *value);
	size_t offset; /* of the field in struct options that a generic apply sets */
	enum option_action action;
	const char *help;
};

bool option_takes_value(const struct option_def *def);

/* "-p" or "--top". */
#define OPTION_SPELLING_LEN 32
const char *option_spelling(const struct option_def *def, char buf[OPTION_SPELLING_LEN]);

/* Puts the message into p->error. Returns -EINVAL, or -ENOMEM when there is no room for it. */
__attribute__((format(printf, 2, 3))) int option_error(struct option_parser *p, const char *fmt,
						       ...);

#endif
