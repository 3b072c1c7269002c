/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parsers of --hist and -e share: the words by which events are named on the command
 * line ("read", "sched:sched_switch", "kmem:mm_page_alloc:order").
 * Pure functions; what they allocate is the caller's.
 */
#ifndef MEMTRACED_CONFIG_SPEC_TEXT_H
#define MEMTRACED_CONFIG_SPEC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define SPEC_MAX_PARTS 3

/*
 * Copies the parts between the colons of `len` bytes; those that are not there become NULL. The
 * number of parts; -EINVAL when there are more than three, or when one is empty or has characters
 * that no name of tracefs has (none has a slash or begins with a dot: they are put into paths); or
 * -ENOMEM.
 */
int spec_split(const char *text, size_t len, char *ret_parts[SPEC_MAX_PARTS]);

/* What follows `prefix` in `name`; NULL when it has not that prefix, or no name behind it. */
const char *spec_behind(const char *name, const char *prefix);

/* Whether `name` is a function that hands out memory: no system call is called so. */
bool spec_is_allocator(const char *name);

#endif
