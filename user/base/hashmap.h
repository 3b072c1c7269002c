/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map of pointers to items that hold their own key. The map does not own the items unless
 * told how to free them. Not thread-safe: one owner.
 */
#ifndef MEMTRACED_BASE_HASHMAP_H
#define MEMTRACED_BASE_HASHMAP_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hashmap_ops {
	uint64_t (*hash)(const void *item);
	bool (*equal)(const void *a, const void *b);
	void (*free_item)(void *item); /* NULL: items belong to somebody else */
};

/* The hash of one to four members of *x, and whether *x and *y have the same. */
#define HASHED_1(x, a) hash_u64((uint64_t)(x)->a)
#define HASHED_2(x, a, b) hash_u64((uint64_t)(x)->a ^ HASHED_1(x, b))
#define HASHED_3(x, a, b, c) hash_u64((uint64_t)(x)->a ^ HASHED_2(x, b, c))
#define HASHED_4(x, a, b, c, d) hash_u64((uint64_t)(x)->a ^ HASHED_3(x, b, c, d))
#define SAME_1(x, y, a) ((x)->a == (y)->a)
#define SAME_2(x, y, a, b) (SAME_1(x, y, a) && SAME_1(x, y, b))
#define SAME_3(x, y, a, b, c) (SAME_1(x, y, a) && SAME_2(x, y, b, c))
#define SAME_4(x, y, a, b, c, d) (SAME_1(x, y, a) && SAME_3(x, y, b, c, d))
#define BY_MEMBERS(prefix, a, b, c, d, n, ...) prefix##n
#define OF_MEMBERS(prefix, ...) BY_MEMBERS(prefix, __VA_ARGS__, 4, 3, 2, 1, )

/* Of items whose key is these members, numbers or pointers. */
#define DEFINE_HASHMAP_OPS(ops, type, free_item_fn, ...)                                           \
	static uint64_t ops##_hash(const void *item)                                               \
	{                                                                                          \
		return OF_MEMBERS(HASHED_, __VA_ARGS__)((const type *)item, __VA_ARGS__);          \
	}                                                                                          \
	static bool ops##_equal(const void *a, const void *b)                                      \
	{                                                                                          \
		return OF_MEMBERS(SAME_, __VA_ARGS__)((const type *)a, (const type *)b,            \
						      __VA_ARGS__);                                \
	}                                                                                          \
	static const struct hashmap_ops ops = { ops##_hash, ops##_equal, free_item_fn }

/* Zero-initialised is empty, but for `ops`, which must outlive the map. */
struct hashmap {
	const struct hashmap_ops *ops;
	struct hashmap_slot *slots;
	size_t cap; /* 0 or a power of two */
	size_t len;
};

/* Empties the map and, where ops->free_item is set, frees its items. */
void hashmap_done(struct hashmap *map);

/* The item equal to `key` (an item of which only the key fields need be set), or NULL. */
void *hashmap_find(const struct hashmap *map, const void *key);

/* 0, -EEXIST when an equal item is there (nothing is changed), or -ENOMEM. */
int hashmap_insert(struct hashmap *map, void *item);

/*
 * The item equal to `item`, or a copy of its `size` bytes from malloc(), which is the map's then;
 * NULL: out of memory. ret_is_new may be NULL.
 */
void *hashmap_intern(struct hashmap *map, const void *item, size_t size, bool *ret_is_new);

/* Takes the item equal to `key` out and returns it (not freed), or NULL. */
void *hashmap_remove(struct hashmap *map, const void *key);

/*
 * Iteration in no particular order: start with *pos = 0; NULL at the end. Inserting or removing
 * during an iteration is not allowed.
 */
void *hashmap_next(const struct hashmap *map, size_t *pos);

/* Hashes for keys: a mixed 64-bit integer, and FNV-1a with a final mix for bytes. */
uint64_t hash_u64(uint64_t x);
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);

/*
 * What to begin with where a key is of several words or bytes that others choose: they could have
 * the same hash of all, and a map of them would take quadratic time. This process alone knows it;
 * what has such a hash is in another order each time.
 */
uint64_t hash_seed(void);

#endif
