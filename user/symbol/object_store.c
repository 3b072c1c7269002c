/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/object_store.h"

#include "base/vec.h"

#include <string.h>

struct stored {
	uint64_t id, bytes;
	struct object_symbols *object;
};

struct object_store {
	VEC(struct stored) list; /* used last at the end */
	struct object_counts counts;
};

int object_store_new(struct object_store **ret_store)
{
	struct object_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	*ret_store = store;
	return 0;
}

void object_store_free(struct object_store *store)
{
	if (!store)
		return;
	vec_foreach(&store->list, stored)
		object_symbols_free(stored->object);
	vec_done(&store->list);
	free(store);
}

/* It is the caller's from now on. */
static struct stored take_out(struct object_store *store, size_t index)
{
	struct stored stored = store->list.data[index];

	memmove(store->list.data + index, store->list.data + index + 1,
		(store->list.len - index - 1) * sizeof(store->list.data[0]));
	store->list.len--;
	return stored;
}

static void drop(struct object_store *store, size_t index)
{
	struct stored stored = take_out(store, index);

	store->counts.open_bytes -= stored.bytes;
	object_symbols_free(stored.object);
}

void object_store_forget(struct object_store *store, uint64_t id)
{
	for (size_t i = store->list.len; i-- > 0;)
		if (store->list.data[i].id == id)
			drop(store, i);
	store->counts.open = store->list.len;
}

static bool is_full(const struct object_store *store, const struct object_limits *limits)
{
	return store->list.len > 1 &&
	       (store->list.len > limits->open || store->counts.open_bytes > limits->open_bytes);
}

static int add(struct object_store *store, uint64_t id, const struct object_files *files,
	       struct object_symbols **ret_object)
{
	struct stored stored = { .id = id };
	int r = vec_reserve(&store->list, store->list.len + 1);

	if (r == 0)
		r = object_symbols_new(files, &stored.object);
	if (r < 0)
		return r;
	stored.bytes = object_symbols_bytes(stored.object);
	store->list.data[store->list.len++] = stored;
	store->counts.open_bytes += stored.bytes;
	store->counts.reads++;
	*ret_object = stored.object;
	return 0;
}

int object_store_find(struct object_store *store, uint64_t id, const struct object_files *files,
		      const struct object_limits *limits, struct object_symbols **ret_object)
{
	int r;

	for (size_t i = store->list.len; i-- > 0;) {
		struct stored found;

		if (store->list.data[i].id != id)
			continue;
		found = take_out(store, i);
		store->list.data[store->list.len++] = found;
		*ret_object = found.object;
		return 0;
	}
	r = add(store, id, files, ret_object);
	while (r == 0 && is_full(store, limits))
		drop(store, 0);
	store->counts.open = store->list.len;
	return r;
}

const struct object_counts *object_store_counts(const struct object_store *store)
{
	return &store->counts;
}
