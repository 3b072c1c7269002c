/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/spec_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_START                                                                                 \
	"abcdefghijklmnopqrstuvwxyz"                                                               \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                                               \
	"0123456789_"
#define NAME_REST NAME_START "-." /* "xhci-hcd" is a category */

/* A copy of `len` bytes that are a name; 0, -EINVAL or -ENOMEM. */
static int copy_name(const char *text, size_t len, char **ret_name)
{
	char *name = strndup(text, len);

	if (!name)
		return -ENOMEM;
	if (len == 0 || strspn(name, NAME_START) == 0 || strspn(name, NAME_REST) != len) {
		free(name);
		return -EINVAL;
	}
	*ret_name = name;
	return 0;
}

int spec_split(const char *text, size_t len, char *ret_parts[SPEC_MAX_PARTS])
{
	char *parts[SPEC_MAX_PARTS] = { NULL };
	const char *end = text + len;
	int n = 0, r = 0;

	for (const char *at = text; r == 0 && at <= end; n++) {
		const char *colon = memchr(at, ':', (size_t)(end - at));
		const char *stop = colon ? colon : end;

		r = n == SPEC_MAX_PARTS ? -EINVAL : copy_name(at, (size_t)(stop - at), &parts[n]);
		at = stop + 1;
	}
	if (r < 0) {
		for (size_t i = 0; i < SPEC_MAX_PARTS; i++)
			free(parts[i]);
		return r;
	}
	memcpy(ret_parts, parts, sizeof(parts));
	return n;
}

const char *spec_behind(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len) != 0 || strspn(name + len, NAME_START) == 0)
		return NULL;
	return name + len;
}

/* Does `name` begin with the prefix by which an allocator tells its functions from others'? */
static bool has_allocator_s_prefix(const char *name)
{
	static const char *const prefixes[] = {
		"je_", "_rjem_", "tc_", "mi_", "__rust_", "__rg_", "__rdl_",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (spec_behind(name, prefixes[i]))
			return true;
	return false;
}

/* Not those that take no size: frees, and copies of strings. */
static bool takes_size(const char *name)
{
	static const char *const words[] = { "free",	"delete", "dealloc",
					     "dallocx", "strdup", "strndup" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(name, words[i]))
			return false;
	return true;
}

bool spec_is_allocator(const char *name)
{
	static const char *const names[] = {
		"malloc",   "calloc",  "realloc",	"reallocarray",	  "memalign",
		"reallocf", "valloc",  "aligned_alloc", "posix_memalign", "pvalloc",
		"mallocx",  "rallocx", "xallocx",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return has_allocator_s_prefix(name) && takes_size(name);
}
