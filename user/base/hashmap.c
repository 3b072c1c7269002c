/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linear probing over a power of two of slots, at most two thirds full. A removal moves the items
 * behind the hole back, so there are no tombstones and a map that is churned for days stays as
 * fast as a fresh one.
 */
#include "base/hashmap.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#define FIRST_CAP 16

struct hashmap_slot {
	uint64_t hash;
	void *item; /* NULL: free */
};

void hashmap_done(struct hashmap *map)
{
	for (size_t i = 0; i < map->cap; i++)
		if (map->slots[i].item && map->ops->free_item)
			map->ops->free_item(map->slots[i].item);
	free(map->slots);
	*map = (struct hashmap){ .ops = map->ops };
}

/*
 * Where an item wants to be. The capacity goes into the mix: filling a map in the iteration order
 * of another would otherwise crowd all items into the first part of a still small table, and take
 * quadratic time.
 */
static size_t home_of(uint64_t hash, size_t cap)
{
	return (size_t)hash_u64(hash + cap) & (cap - 1);
}

/* The slot of the item equal to `key`, or the free slot where it would go. Needs cap > len. */
static struct hashmap_slot *probe_slots(const struct hashmap *map, const void *key, uint64_t hash)
{
	size_t i = home_of(hash, map->cap);

	for (;; i = (i + 1) & (map->cap - 1)) {
		struct hashmap_slot *slot = &map->slots[i];

		if (!slot->item)
			return slot;
		if (slot->hash == hash && map->ops->equal(slot->item, key))
			return slot;
	}
}

static void place_slot(struct hashmap_slot *slots, size_t cap, struct hashmap_slot entry)
{
	size_t i = home_of(entry.hash, cap);

	while (slots[i].item)
		i = (i + 1) & (cap - 1);
	slots[i] = entry;
}

static int grow_slots(struct hashmap *map)
{
	size_t cap = map->cap ? map->cap * 2 : FIRST_CAP;
	struct hashmap_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->cap; i++)
		if (map->slots[i].item)
			place_slot(slots, cap, map->slots[i]);
	free(map->slots);
	map->slots = slots;
	map->cap = cap;
	return 0;
}

void *hashmap_find(const struct hashmap *map, const void *key)
{
	if (map->len == 0)
		return NULL;
	return probe_slots(map, key, map->ops->hash(key))->item;
}

int hashmap_insert(struct hashmap *map, void *item)
{
	uint64_t hash = map->ops->hash(item);
	struct hashmap_slot *slot = map->cap ? probe_slots(map, item, hash) : NULL;

	if (slot && slot->item)
		return -EEXIST;
	if (map->len + 1 > map->cap - map->cap / 3) {
		int r = grow_slots(map);

		if (r < 0)
			return r;
		slot = probe_slots(map, item, hash);
	}
	*slot = (struct hashmap_slot){ .hash = hash, .item = item };
	map->len++;
	return 0;
}

void *hashmap_intern(struct hashmap *map, const void *item, size_t size, bool *ret_is_new)
{
	void *found = hashmap_find(map, item), *copy = NULL;

	if (ret_is_new)
		*ret_is_new = !found;
	if (found)
		return found;
	copy = malloc(size);
	if (!copy)
		return NULL;
	memcpy(copy, item, size);
	if (hashmap_insert(map, copy) < 0) {
		free(copy);
		return NULL;
	}
	return copy;
}

/*
 * Fills the hole from behind: an item of the same run may move into it unless its home lies
 * cyclically after the hole, where a search for it would no longer pass.
 */
static void close_hole(struct hashmap *map, size_t hole)
{
	size_t mask = map->cap - 1;

	for (size_t i = (hole + 1) & mask; map->slots[i].item; i = (i + 1) & mask) {
		size_t home = home_of(map->slots[i].hash, map->cap);

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole] = (struct hashmap_slot){ 0 };
}

void *hashmap_remove(struct hashmap *map, const void *key)
{
	struct hashmap_slot *slot;
	void *item;

	if (map->len == 0)
		return NULL;
	slot = probe_slots(map, key, map->ops->hash(key));
	item = slot->item;
	if (!item)
		return NULL;
	close_hole(map, (size_t)(slot - map->slots));
	map->len--;
	return item;
}

void *hashmap_next(const struct hashmap *map, size_t *pos)
{
	while (*pos < map->cap) {
		void *item = map->slots[(*pos)++].item;

		if (item)
			return item;
	}
	return NULL;
}

/* The finalizer of MurmurHash3, a bijection whose every output bit depends on every input bit. */
uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	x ^= x >> 33;
	return x;
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;

	for (size_t i = 0; i < len; i++) {
		h ^= p[i];
		h *= UINT64_C(0x100000001b3);
	}
	return hash_u64(h);
}

/* The kernel gives each program random bytes when it starts (getauxval(3)). */
uint64_t hash_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t words[2] = {};

	/* The C library has secrets of its own from these: what a hash would tell is of both. */
	if (random)
		memcpy(words, random, sizeof(words));
	return hash_u64(words[0] ^ hash_u64(words[1]));
}
