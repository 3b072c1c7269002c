/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Beginnings of texts, and patterns with * and ?, of texts that may be anything. Header only. */
#ifndef MEMTRACED_BASE_GLOB_H
#define MEMTRACED_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * Are the `len` bytes of the text as the pattern says? The last star is tried at ever later places:
 * at most the product of both lengths.
 */
static inline bool glob_match(const char *pattern, const char *text, size_t len)
{
	const char *end = text + len, *star = NULL, *again = NULL;

	while (text < end) {
		if (*pattern == '*') {
			star = pattern++;
			again = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++again;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

#endif
