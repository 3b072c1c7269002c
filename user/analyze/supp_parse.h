/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valgrind's suppression files (its manual, "Suppressing errors"): text into entries. Entries of
 * other tools, and of Memcheck's other kinds, are read over. Pure.
 */
#ifndef MEMTRACED_ANALYZE_SUPP_PARSE_H
#define MEMTRACED_ANALYZE_SUPP_PARSE_H

#include "analyze/supp_entry.h"
#include "base/strbuf.h"

struct supp_entries {
	VEC(struct supp_entry) list;
};

/*
 * Appends what the text says; `text` is cut into strings, which entries then point into, as they do
 * to `name`, which is for messages, too. On failure (-EINVAL with "NAME:LINE: REASON", or -ENOMEM)
 * entries are as before.
 */
int supp_parse(struct supp_entries *entries, const char *name, char *text, size_t len,
	       struct strbuf *error);

/* "definite,possible", "all", "none" into a set of 1 << enum reach_class; 0 or -EINVAL. */
int supp_parse_classes(const char *text, uint32_t *ret_classes);

#endif
