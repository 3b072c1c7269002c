/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pool of strings that live as long as the pool, each stored once: equal strings have equal
 * pointers. Paths, function names and loss causes of a run repeat by the thousand. One owner.
 */
#ifndef MEMTRACED_MODEL_STRINGS_H
#define MEMTRACED_MODEL_STRINGS_H

#include "base/interns.h"

/* Zero-initialised is empty. */
struct strings {
	struct interns known;
};

void strings_done(struct strings *strings);

/* The pool's copy of s; NULL gives NULL. 0 or -ENOMEM. */
int strings_intern(struct strings *strings, const char *s, const char **ret_s);
/* The same of members, up to NULL, in place. */
__attribute__((sentinel)) int strings_intern_members(struct strings *strings, ...);

#endif
