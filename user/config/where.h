/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --where takes: comparisons of a site's values, joined by and, or, not and parentheses, as in
 * "size >= 4k and (function = 'parse_*' or growth = leak)". Only the text is looked at; what a site
 * has to say to a comparison is its reader's matter. Pure functions.
 */
#ifndef MEMTRACED_CONFIG_WHERE_H
#define MEMTRACED_CONFIG_WHERE_H

#include "base/cleanup.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

#define WHERE_TESTS 64 /* in one expression */
#define WHERE_DEPTH 32 /* of parentheses and nots */

enum where_field {
	WHERE_LIVE, /* bytes, by default */
	WHERE_BLOCKS,
	WHERE_PEAK,
	WHERE_ALLOCATED,
	WHERE_ALLOCS,
	WHERE_SIZE,	 /* mean of its allocations */
	WHERE_TEMPORARY, /* percent of its allocations */
	WHERE_OLDEST,	 /* ages in ns */
	WHERE_NEWEST,
	WHERE_LIFETIME, /* mean of its freed blocks', by --free-stacks */
	WHERE_PID,
	WHERE_FUNCTION, /* of any frame, as are file and object */
	WHERE_FILE,
	WHERE_OBJECT,
	WHERE_PROCESS,
	WHERE_CLASS,  /* "heap", "mmap" */
	WHERE_GROWTH, /* a verdict */
	WHERE_LEAK,   /* a class of leaks */
	WHERE_FIELDS
};

enum where_op { WHERE_EQ, WHERE_NE, WHERE_LT, WHERE_LE, WHERE_GT, WHERE_GE };

struct where_test {
	enum where_field field;
	enum where_op op;
	uint64_t number; /* of fields before WHERE_FUNCTION */
	char *text;	 /* of the others, else NULL; names may have * and ? in it */
};

struct where;

/*
 * 0; -EINVAL with one line in *error that says in which column what is wrong; or -ENOMEM. Columns
 * are counted in bytes, from 1.
 */
int where_parse(const char *text, struct where **ret_where, struct strbuf *error);
/* NULL is legal. */
void where_free(struct where *where);
DEFINE_CLEANUP(struct where, where_free)

/* Is it true, by what `fn` says of each comparison? */
typedef bool (*where_fn)(const struct where_test *test, void *userdata);
bool where_holds(const struct where *where, where_fn fn, void *userdata);

/* Compares a value with the test's number. */
bool where_compare(const struct where_test *test, uint64_t value);
/* Does the text match the test's pattern as a whole? Whatever the operator. */
bool where_matches(const struct where_test *test, const char *text);

#endif
