/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/interns.h"

#include "base/hashmap.h"
#include "base/vec.h"

#include <errno.h>
#include <stdalign.h>
#include <string.h>

struct item {
	size_t index, len;
	const void *data; /* `copy`, but for a key that is looked up */
	alignas(max_align_t) unsigned char copy[];
};

struct interns {
	struct hashmap *by_data;
	VEC(struct item *) items;
};

static uint64_t item_hash(const void *item)
{
	const struct item *i = item;

	return hash_bytes(i->data, i->len, 0);
}

static bool item_equal(const void *item_a, const void *item_b)
{
	const struct item *a = item_a, *b = item_b;

	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static const struct hashmap_ops item_ops = { item_hash, item_equal, free };

int interns_new(struct interns **ret_interns)
{
	_cleanup_(interns_free_p) struct interns *interns = calloc(1, sizeof(*interns));
	int r = interns ? hashmap_new(&item_ops, &interns->by_data) : -ENOMEM;

	if (r < 0)
		return r;
	*ret_interns = TAKE_PTR(interns);
	return 0;
}

void interns_free(struct interns *interns)
{
	if (!interns)
		return;
	hashmap_free(interns->by_data);
	vec_done(&interns->items);
	free(interns);
}

int interns_add(struct interns *interns, const void *data, size_t len, size_t *ret_index)
{
	const struct item key = { .len = len, .data = data };
	const struct item *known = hashmap_find(interns->by_data, &key);
	_cleanup_free_ struct item *item = NULL;
	int r;

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
		r = hashmap_insert(interns->by_data, item);
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

bool interns_has(const struct interns *interns, const void *data, size_t len)
{
	const struct item key = { .len = len, .data = data };

	return hashmap_find(interns->by_data, &key);
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
