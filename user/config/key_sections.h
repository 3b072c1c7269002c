/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections of a configuration of which there may be several, each with a name: [rule NAME]. Each is
 * an object with keys of one table. Pure functions.
 */
#ifndef MEMTRACED_CONFIG_KEY_SECTIONS_H
#define MEMTRACED_CONFIG_KEY_SECTIONS_H

#include "config/key.h"

/* The first member of such an object. */
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
int key_sections_take(const struct key_sections *of, void **list, size_t *n, const char *section,
		      unsigned int line, const char *name, const char *value, struct strbuf *why);

/* Frees them all. */
void key_sections_done(const struct key_sections *of, void *list, size_t n);

#endif
