/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valgrind's suppression files (its manual, "Suppressing errors"): text into entries, whether an
 * entry matches a stack, and entries for what was found. Pure.
 */
#ifndef MEMTRACED_ANALYZE_SUPPRESSION_FILE_H
#define MEMTRACED_ANALYZE_SUPPRESSION_FILE_H

#include "analyze/valgrind_names.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Strings of entries belong to the text that they were read from. */
enum supp_pattern_kind {
	SUPP_FUNCTION,
	SUPP_OBJECT,
	SUPP_SOURCE,
	SUPP_FRAME_KINDS,
	SUPP_ANY_FRAMES = SUPP_FRAME_KINDS
};

struct supp_pattern {
	enum supp_pattern_kind kind;
	const char *text;
	char *stable;  /* of functions: without what changes from build to build, or NULL; owned */
	uint32_t line; /* of sources; 0: any */
};

struct supp_entry {
	const char *name;
	const char *file;
	unsigned int line; /* of the name */
	enum suppression_kind kind;
	uint32_t classes;     /* of leaks: 1 << enum reach_class */
	const char *argument; /* of fishy sizes: "malloc(size)" */
	VEC(struct supp_pattern) patterns;
	uint64_t records, blocks, bytes;
};

void supp_entry_done(struct supp_entry *entry);

/* Is a fishy size of this frame's function meant? Any of its arguments may be. */
bool supp_entry_has_function(const struct supp_entry *entry, const struct suppression_frame *frame);

/* The patterns from the first on match the frames from the first on; frames may be left over. */
bool supp_entry_matches(const struct supp_entry *entry, const struct supp_names *frames, size_t n);

/* Entries of other tools, and of Memcheck's other kinds, are read over. */
struct supp_entries {
	VEC(struct supp_entry) list;
};

/*
 * Appends what the text says; `text` is cut into strings, which entries then point into, as they do
 * to `name`, which is for messages, too. On failure (-EINVAL with "NAME:LINE: REASON", or -ENOMEM)
 * entries are as before. On success *error has a warning where entries were skipped, since they are
 * of kinds or have conditions that are not known.
 */
int supp_parse(struct supp_entries *entries, const char *name, char *text, size_t len,
	       struct strbuf *error);

/*
 * Appends an entry for what was found as Valgrind writes it, such that it reads it as well, and the
 * same leak of the next build is still meant: frames up to main. The class is of leaks.
 */
void suppression_generate(struct strbuf *sb, enum suppression_kind kind, enum reach_class class,
			  const struct suppression_frame *frames, size_t n);

#endif
