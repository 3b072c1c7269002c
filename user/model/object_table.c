/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/object_table.h"

#include <string.h>

static uint64_t object_hash(const void *item)
{
	const struct model_object *o = item;
	uint64_t h = hash_u64(o->dev ^ hash_u64(o->ino));

	h = hash_bytes(o->build_id, o->build_id_len, h);
	return hash_bytes(o->path, strlen(o->path), h);
}

static bool object_equal(const void *item_a, const void *item_b)
{
	const struct model_object *a = item_a, *b = item_b;

	return a->path == b->path && a->dev == b->dev && a->ino == b->ino &&
	       a->build_id_len == b->build_id_len &&
	       memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
}

static const struct hashmap_ops object_ops = {
	.hash = object_hash,
	.equal = object_equal,
	.free_item = free,
};

void object_table_init(struct object_table *ret_table, struct strings *strings)
{
	*ret_table = (struct object_table){ .strings = strings, .map.ops = &object_ops };
}

void object_table_done(struct object_table *table)
{
	vec_done(&table->list);
	hashmap_done(&table->map);
}

static int object_init(struct strings *strings, const struct record_mapping *mapping,
		       struct model_object *object)
{
	size_t len = mapping->build_id_len;
	int r;

	*object = (struct model_object){
		.image = mapping->image,
		.dev = mapping->dev,
		.ino = mapping->ino,
	};
	if (len > sizeof(object->build_id))
		len = sizeof(object->build_id);
	memcpy(object->build_id, mapping->build_id, len);
	object->build_id_len = len;
	r = strings_intern(strings, mapping->path ? mapping->path : "[anon]", &object->path);
	/* A memfd is a JIT's memory, or an ELF file that was executed or loaded: that has an ID. */
	object->is_anonymous = r == 0 && len == 0 && object_path_is_anonymous(object->path);
	return r;
}

int object_table_intern(struct object_table *table, const struct record_mapping *mapping,
			const struct model_object **ret_object)
{
	_cleanup_free_ struct model_object *object = malloc(sizeof(*object));
	const struct model_object *known;
	int r;

	if (!object)
		return -ENOMEM;
	r = object_init(table->strings, mapping, object);
	if (r < 0)
		return r;
	known = hashmap_find(&table->map, object);
	if (known) {
		*ret_object = known;
		return 0;
	}
	r = strings_intern(table->strings, mapping->local_path, &object->local_path);
	if (r == 0)
		r = vec_reserve(&table->list, table->list.len + 1);
	if (r < 0)
		return r;
	object->index = table->list.len;
	r = hashmap_insert(&table->map, object);
	if (r < 0)
		return r;
	table->list.data[table->list.len++] = object;
	*ret_object = TAKE_PTR(object);
	return 0;
}

bool model_object_is_kernel(const struct model_object *object)
{
	return image_is_none(object->image);
}

bool object_path_is_anonymous(const char *path)
{
	static const char *const prefixes[] = { "//anon", "[anon", "[heap", "[stack", "/memfd:" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return *path == '\0';
}
