/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/symbol_names.h"

#include "base/vec.h"

#include <errno.h>
#include <string.h>

struct symbol_names {
	VEC(const struct elf_symbol *) list; /* by name, then as they were */
};

static int compare(const void *item_a, const void *item_b)
{
	const struct elf_symbol *a = *(const struct elf_symbol *const *)item_a;
	const struct elf_symbol *b = *(const struct elf_symbol *const *)item_b;
	int order = strcmp(a->name, b->name);

	return order ? order : (a > b) - (a < b);
}

int symbol_names_new(const struct elf_symbol *symbols, size_t n, struct symbol_names **ret_names)
{
	_cleanup_(symbol_names_free_p) struct symbol_names *names = calloc(1, sizeof(*names));
	int r = names ? vec_reserve(&names->list, n) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (!symbols[i].is_ifunc)
			names->list.data[names->list.len++] = &symbols[i];
	if (names->list.len > 0)
		qsort(names->list.data, names->list.len, sizeof(names->list.data[0]), compare);
	*ret_names = TAKE_PTR(names);
	return 0;
}

void symbol_names_free(struct symbol_names *names)
{
	if (!names)
		return;
	vec_done(&names->list);
	free(names);
}

const struct elf_symbol *symbol_names_find(const struct symbol_names *names, const char *name)
{
	size_t low = 0, high = names->list.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(names->list.data[mid]->name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == names->list.len || strcmp(names->list.data[low]->name, name) != 0)
		return NULL;
	return names->list.data[low];
}
