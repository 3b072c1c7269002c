/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/names.h"

#include "base/hashmap.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <string.h>

struct name {
	const char *text;
	size_t len;
	char *demangled; /* NULL: not mangled, or nobody asked */
	bool asked;
	char copy[];
};

struct names {
	struct hashmap *map;
	uint64_t bytes;
};

static uint64_t hash_name(const void *item)
{
	const struct name *name = item;

	return hash_bytes(name->text, name->len, 0);
}

static bool equal_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
}

static void free_name(void *item)
{
	struct name *name = item;

	free(name->demangled);
	free(name);
}

static const struct hashmap_ops name_ops = { hash_name, equal_names, free_name };

int names_new(struct names **ret_names)
{
	_cleanup_(names_free_p) struct names *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return -ENOMEM;
	r = hashmap_new(&name_ops, &names->map);
	if (r < 0)
		return r;
	*ret_names = TAKE_PTR(names);
	return 0;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	hashmap_free(names->map);
	free(names);
}

static int intern(struct names *names, const char *text, size_t len, struct name **ret_name)
{
	struct name key = { .text = text, .len = len };
	struct name *name = hashmap_find(names->map, &key);
	int r;

	if (!name) {
		name = calloc(1, sizeof(*name) + len + 1);
		if (!name)
			return -ENOMEM;
		memcpy(name->copy, text, len);
		name->text = name->copy;
		name->len = len;
		r = hashmap_insert(names->map, name);
		if (r < 0) {
			free(name);
			return r;
		}
		names->bytes += sizeof(*name) + len + 1;
	}
	*ret_name = name;
	return 0;
}

int names_add(struct names *names, const char *text, size_t len, const char **ret_copy)
{
	struct name *name;
	int r = intern(names, text, len, &name);

	if (r == 0)
		*ret_copy = name->copy;
	return r;
}

int names_demangle(struct names *names, const char *linkage, size_t len, const char **ret_copy,
		   const char **ret_function)
{
	struct name *name;
	int r = intern(names, linkage, len, &name);

	if (r < 0)
		return r;
	if (!name->asked) {
		name->demangled = demangle(name->copy);
		name->asked = true;
		names->bytes += name->demangled ? strlen(name->demangled) + 1 : 0;
	}
	*ret_copy = name->copy;
	*ret_function = name->demangled ? name->demangled : name->copy;
	return 0;
}

uint64_t names_bytes(const struct names *names)
{
	return names->bytes;
}
