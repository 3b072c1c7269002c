/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/interns.h"

#include "base/hashmap.h"

#include <errno.h>
#include <stdalign.h>
#include <string.h>

struct interned {
	size_t index, len;
	const void *data; /* `copy`, but for a key that is looked up */
	alignas(max_align_t) unsigned char copy[];
};

static uint64_t item_hash(const void *item)
{
	const struct interned *i = item;

	return hash_bytes(i->data, i->len, hash_seed());
}

static bool item_equal(const void *item_a, const void *item_b)
{
	const struct interned *a = item_a, *b = item_b;

	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static const struct hashmap_ops item_ops = { item_hash, item_equal, free };

void interns_done(struct interns *interns)
{
	hashmap_done(&interns->by_data);
	vec_done(&interns->items);
}

int interns_add(struct interns *interns, const void *data, size_t len, size_t *ret_index)
{
	const struct interned key = { .len = len, .data = data };
	_cleanup_free_ struct interned *item = NULL;
	const struct interned *known;
	int r;

	interns->by_data.ops = &item_ops;
	known = hashmap_find(&interns->by_data, &key);
	if (known) {
		*ret_index = known->index;
		return 0;
	}
	item = malloc(sizeof(*item) + len);
	if (!item)
		return -ENOMEM;
	item->index = interns->items.len;
	item->len = len;
	item->data = item->copy;
	memcpy(item->copy, data, len);
	r = vec_reserve(&interns->items, interns->items.len + 1);
	if (r == 0)
		r = hashmap_insert(&interns->by_data, item);
	if (r < 0)
		return r;
	*ret_index = item->index;
	interns->items.data[interns->items.len++] = TAKE_PTR(item);
	return 1;
}

int interns_add_string(struct interns *interns, const char *s, size_t *ret_index)
{
	return interns_add(interns, s, strlen(s) + 1, ret_index);
}

int interns_number(struct interns *interns, const void *data, size_t len, uint32_t *ret_number)
{
	size_t index;
	int r = interns_add(interns, data, len, &index);

	if (r < 0 || index >= INTERNS_NONE)
		return -ENOMEM;
	*ret_number = (uint32_t)index;
	return 0;
}

int interns_number_string(struct interns *interns, const char *s, uint32_t *ret_number)
{
	*ret_number = INTERNS_NONE;
	return s ? interns_number(interns, s, strlen(s) + 1, ret_number) : 0;
}

bool interns_has(const struct interns *interns, const void *data, size_t len)
{
	const struct interned key = { .len = len, .data = data };

	return hashmap_find(&interns->by_data, &key);
}

const void *interns_get(const struct interns *interns, size_t index)
{
	return interns->items.data[index]->copy;
}

size_t interns_length(const struct interns *interns, size_t index)
{
	return interns->items.data[index]->len;
}

size_t interns_count(const struct interns *interns)
{
	return interns->items.len;
}
