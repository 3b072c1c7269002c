/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sections with a name of their own have in common, [rule NAME] and [push NAME]: the name, and
 * values of their keys. Errors are one line without its place in *why. Pure functions.
 */
#ifndef MEMTRACED_CONFIG_NAMED_SECTION_H
#define MEMTRACED_CONFIG_NAMED_SECTION_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

#define NAMED_SECTION_MOST 32 /* bytes of a name */

/* Is this header that of a section of the kind, well-formed or not? */
bool named_section_is(const char *section, const char *kind);

/* The name in it, a part of `section`. 0 or spec_error's. */
int named_section_name(const char *section, const char *kind, const char **ret_name,
		       struct strbuf *why);

/* A key that `who` ("rules") do not know; `names` ends with NULL. spec_error's. */
int named_section_unknown(const char *who, const char *key, const char *const *names,
			  struct strbuf *why);

/* A copy in place of what was there. 0 or -ENOMEM. */
int named_section_text(char **field, const char *value);

/* From least_ns to most_ns. 0 or spec_error's. */
int named_section_time(uint64_t *field, const char *key, const char *value, uint64_t least_ns,
		       uint64_t most_ns, struct strbuf *why);

#endif
