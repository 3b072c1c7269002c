/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/strings.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static uint64_t string_hash(const void *item)
{
	return hash_bytes(item, strlen(item), 0);
}

static bool string_equal(const void *a, const void *b)
{
	return strcmp(a, b) == 0;
}

static const struct hashmap_ops string_ops = {
	.hash = string_hash,
	.equal = string_equal,
	.free_item = free,
};

void strings_init(struct strings *ret_strings)
{
	*ret_strings = (struct strings){ .map.ops = &string_ops };
}

void strings_done(struct strings *strings)
{
	hashmap_done(&strings->map);
}

int strings_intern(struct strings *strings, const char *s, const char **ret_s)
{
	_cleanup_free_ char *copy = NULL;
	const char *known;
	int r;

	if (!s) {
		*ret_s = NULL;
		return 0;
	}
	known = hashmap_find(&strings->map, s);
	if (known) {
		*ret_s = known;
		return 0;
	}
	copy = strdup(s);
	if (!copy)
		return -ENOMEM;
	r = hashmap_insert(&strings->map, copy);
	if (r < 0)
		return r;
	*ret_s = TAKE_PTR(copy);
	return 0;
}

int strings_intern_members(struct strings *strings, ...)
{
	const char **member;
	va_list ap;
	int r = 0;

	va_start(ap, strings);
	while (r == 0 && (member = va_arg(ap, const char **)))
		r = strings_intern(strings, *member, member);
	va_end(ap);
	return r;
}
