/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys: names with a value, of the command line and of the service's configuration. Each kind of
 * object (struct options, struct service_rule) has one table of them, from which come parsing,
 * defaults, errors, --help and the tests of the documents. Pure functions.
 */
#ifndef MEMTRACED_CONFIG_KEY_H
#define MEMTRACED_CONFIG_KEY_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_kind {
	KEY_FLAG,   /* takes no value: sets true, or `stored` */
	KEY_BOOL,   /* yes, no */
	KEY_CHOICE, /* the index of one of `choices` */
	KEY_SET,    /* bits of `choices`: all, none, or some with commas */
	KEY_NUMBER,
	KEY_SIZE,  /* bytes */
	KEY_TIME,  /* nanoseconds */
	KEY_SHARE, /* hundredths of a percent */
	KEY_TEXT,  /* a char *: not empty */
	KEY_PATH,  /* the same: absolute */
	KEY_LIST,  /* a char **, ending with NULL: one more text, at most `most` of them */
	KEY_OWN,   /* what `apply` makes of it */
};

struct key;

/*
 * Takes a value over, NULL where a key has none or may be without: 0, config_error's result, or
 * -ENOMEM.
 */
typedef int key_fn(void *object, const struct key *key, const char *value, struct strbuf *error);

struct key {
	const char *section; /* "http"; of an option, the title of its group in --help */
	const char *name;    /* as it is written: "timeout", "--top", "-p" */
	enum key_kind kind;
	unsigned int flags;	    /* for who reads the table */
	size_t offset, width;	    /* of the field, see KEY_FIELD */
	uint64_t least, most;	    /* of numbers; most 0: any */
	const char *const *choices; /* ends with NULL */
	unsigned int stored;
	bool repeats;	      /* may be given several times, each of which counts */
	char letter;	      /* a second name, "-v" */
	uint64_t unit_ns;     /* KEY_TIME: what a number without a unit counts; 0: seconds */
	const char *fallback; /* the value of what is not given; NULL: zero, or by hand */
	const char *implied;  /* the value where one may be left out; NULL: it must be given */
	const char *expected; /* what errors say to give; NULL: by kind and range */
	const char *metavar;  /* what --help calls the value; NULL: the choices */
	const char *help;
	key_fn *apply; /* in place of key_set() */
};

#define KEY_FIELD(type, field) .offset = offsetof(type, field), .width = sizeof(((type *)0)->field)

struct key_table {
	const struct key *keys;
	size_t n;
};
#define KEY_LINES 48 /* keys of a table of a configuration, at most */
#define KEY_TABLE(keys)                                                                            \
	{                                                                                          \
		keys, sizeof(keys) / sizeof((keys)[0])                                             \
	}

static inline bool key_takes_value(const struct key *key)
{
	return key->metavar || key->choices || key->kind == KEY_BOOL;
}

/* By its kind into its field, whatever the key's apply. */
key_fn key_set;
/* The same, or 0 for none; "no" means it as well, as older configuration files have it. */
key_fn key_set_limit;
/* By its apply, or as above. */
key_fn key_apply;
/* "invalid --top 'x': expected ..."; config_error's result. */
int key_refuse(const struct key *key, const char *value, struct strbuf *error);

/* Sets what has a fallback. 0 or -ENOMEM. */
int key_table_init(const struct key_table *table, void *object);
/* Frees the texts and lists. */
void key_table_done(const struct key_table *table, void *object);
/* NULL: there is none. */
const struct key *key_table_find(const struct key_table *table, const char *section,
				 const char *name);
/*
 * A line of a configuration: `lines`, of KEY_LINES, has for each key of the table the line where it
 * was given, else 0. As key_apply().
 */
int key_table_set(const struct key_table *table, void *object, unsigned int *lines,
		  unsigned int line, const char *section, const char *name, const char *value,
		  struct strbuf *error);

/* Is this header that of a section of the kind, "[rule NAME]", well-formed or not? */
bool key_section_is(const char *section, const char *kind);
#define KEY_SECTION_NAME_MOST 32 /* bytes of a name */

/* Puts the message into *error. Returns -EINVAL, or -ENOMEM when there is no room for it. */
__attribute__((format(printf, 2, 3))) int config_error(struct strbuf *error, const char *fmt, ...);

/*
 * Sections of a configuration of which there may be several, each with a name: [rule NAME]. Each is
 * an object with keys of one table, and this its first member. Pure functions.
 */
struct key_section {
	char *name;
	unsigned int line;	       /* where it begins */
	unsigned int lines[KEY_LINES]; /* of its keys, as in the table; 0: not given */
};

/* Of one kind. */
struct key_sections {
	const char *kind; /* "rule" */
	const struct key_table *table;
	size_t size;	  /* of an object */
	size_t most;	  /* of them, */
	const char *many; /* as a message calls them */
	/* What it has beside its name and what the table says; NULL: nothing. */
	void (*done)(void *object);
};

/*
 * A line of the section with this header: of an object of *list, which has *n, or of a new one. 0;
 * -EINVAL with one line without its place in *why; or -ENOMEM.
 */
int key_sections_set(const struct key_sections *of, void **list, size_t *n, const char *section,
		     unsigned int line, const char *name, const char *value, struct strbuf *why);

/* Frees them all. */
void key_sections_done(const struct key_sections *of, void *list, size_t n);

#endif
