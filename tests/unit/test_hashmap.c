/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hashmap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MANY 1000000

struct item {
	uint64_t key;
	unsigned int seen;
};

static uint64_t item_hash(const void *p)
{
	return ((const struct item *)p)->key; /* as bad as keys get: strides, no mixing */
}

static uint64_t colliding_hash(const void *p)
{
	return ((const struct item *)p)->key % 3;
}

static bool item_equal(const void *a, const void *b)
{
	return ((const struct item *)a)->key == ((const struct item *)b)->key;
}

static void count_free(void *p)
{
	((struct item *)p)->seen++;
}

static const struct hashmap_ops borrowed_ops = { .hash = item_hash, .equal = item_equal };
static const struct hashmap_ops colliding_ops = { .hash = colliding_hash, .equal = item_equal };
static const struct hashmap_ops owned_ops = {
	.hash = item_hash,
	.equal = item_equal,
	.free_item = count_free,
};

static void an_empty_map_finds_removes_and_iterates_nothing(void **state)
{
	_cleanup_(hashmap_done) struct hashmap map = { .ops = &borrowed_ops };
	struct item key = { .key = 1 };
	size_t pos = 0;

	(void)state;
	assert_null(hashmap_find(&map, &key));
	assert_null(hashmap_remove(&map, &key));
	assert_null(hashmap_next(&map, &pos));
	assert_int_equal(map.len, 0);
}

static void a_second_equal_item_is_refused_and_changes_nothing(void **state)
{
	_cleanup_(hashmap_done) struct hashmap map = { .ops = &borrowed_ops };
	struct item first = { .key = 7 }, second = { .key = 7 };

	(void)state;
	assert_int_equal(hashmap_insert(&map, &first), 0);
	assert_int_equal(hashmap_insert(&map, &second), -EEXIST);
	assert_int_equal(map.len, 1);
	assert_ptr_equal(hashmap_find(&map, &second), &first);
}

static void an_item_is_copied_in_once_and_found_afterwards(void **state)
{
	static const struct hashmap_ops copied_ops = { item_hash, item_equal, free };
	_cleanup_(hashmap_done) struct hashmap map = { .ops = &copied_ops };
	const struct item first = { .key = 7, .seen = 1 }, again = { .key = 7, .seen = 2 };
	struct item *copy, *found;
	bool is_new;

	(void)state;
	copy = hashmap_intern(&map, &first, sizeof(first), &is_new);
	assert_non_null(copy);
	assert_ptr_not_equal(copy, &first);
	assert_true(is_new);
	found = hashmap_intern(&map, &again, sizeof(again), &is_new);
	assert_ptr_equal(found, copy);
	assert_false(is_new);
	assert_int_equal(found->seen, 1);
	assert_ptr_equal(hashmap_intern(&map, &again, sizeof(again), NULL), copy);
	assert_int_equal(map.len, 1);
}

static void owned_items_are_freed_once_and_removed_ones_are_not(void **state)
{
	struct item items[100] = { 0 };
	struct hashmap map = { .ops = &owned_ops };

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		items[i].key = i;
		assert_int_equal(hashmap_insert(&map, &items[i]), 0);
	}
	for (size_t i = 0; i < 100; i += 2)
		assert_ptr_equal(hashmap_remove(&map, &items[i]), &items[i]);
	hashmap_done(&map);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(items[i].seen, i % 2);
}

/* Runs of equal hashes wrap around the end of the table; holes in them must close. */
static void colliding_items_survive_removals_in_any_order(void **state)
{
	struct item items[257] = { 0 };

	(void)state;
	for (size_t step = 1; step < 257; step += 5) { /* 257 is prime: each step visits all */
		_cleanup_(hashmap_done) struct hashmap map = { .ops = &colliding_ops };

		for (size_t i = 0; i < 257; i++) {
			items[i].key = i;
			assert_int_equal(hashmap_insert(&map, &items[i]), 0);
		}
		for (size_t n = 0; n < 257; n++) {
			struct item *gone = &items[n * step % 257];

			assert_ptr_equal(hashmap_remove(&map, gone), gone);
			assert_null(hashmap_find(&map, gone));
			for (size_t later = n + 1; later < 257 && later < n + 9; later++) {
				struct item *left = &items[later * step % 257];

				assert_ptr_equal(hashmap_find(&map, left), left);
			}
		}
		assert_int_equal(map.len, 0);
	}
}

static void a_random_churn_agrees_with_a_plain_table(void **state)
{
	_cleanup_(hashmap_done) struct hashmap map = { .ops = &borrowed_ops };
	struct item items[1024] = { 0 };
	uint64_t random = 1;
	size_t size = 0;

	(void)state;
	for (size_t i = 0; i < 1024; i++)
		items[i].key = i << 32;
	for (int n = 0; n < 200000; n++) {
		struct item *it;

		random = hash_u64(random + (uint64_t)n);
		it = &items[random % 1024];
		if (it->seen) {
			assert_ptr_equal(hashmap_remove(&map, it), it);
			size--;
		} else {
			assert_null(hashmap_find(&map, it));
			assert_int_equal(hashmap_insert(&map, it), 0);
			size++;
		}
		it->seen = !it->seen;
		assert_int_equal(map.len, size);
	}
	for (size_t i = 0; i < 1024; i++)
		assert_ptr_equal(hashmap_find(&map, &items[i]), items[i].seen ? &items[i] : NULL);
}

/* Page-aligned keys are what mappings have; the copy is the order that ruins linear probing. */
static void a_million_items_are_held_iterated_once_each_and_copied(void **state)
{
	_cleanup_(hashmap_done) struct hashmap map = { .ops = &borrowed_ops };
	_cleanup_(hashmap_done) struct hashmap copy = { .ops = &borrowed_ops };
	_cleanup_free_ struct item *items = calloc(MANY, sizeof(*items));
	struct item *it;
	size_t pos = 0;

	(void)state;
	assert_non_null(items);
	for (size_t i = 0; i < MANY; i++) {
		items[i].key = i * 4096;
		assert_int_equal(hashmap_insert(&map, &items[i]), 0);
	}
	assert_int_equal(map.len, MANY);
	while ((it = hashmap_next(&map, &pos))) {
		it->seen++;
		if (hashmap_insert(&copy, it) < 0)
			fail();
	}
	assert_int_equal(copy.len, MANY);
	for (size_t i = 0; i < MANY; i++)
		if (items[i].seen != 1 || hashmap_remove(&copy, &items[i]) != &items[i])
			fail();
	assert_int_equal(copy.len, 0);
}

static void hashes_depend_on_every_byte_the_length_and_the_seed(void **state)
{
	char data[9] = "memtrace";
	uint64_t whole = hash_bytes(data, 8, 0);

	(void)state;
	assert_int_equal(whole, hash_bytes("memtrace", 8, 0));
	assert_true(whole != hash_bytes(data, 7, 0));
	assert_true(whole != hash_bytes(data, 8, 1));
	for (size_t i = 0; i < 8; i++) {
		data[i] ^= 1;
		assert_true(whole != hash_bytes(data, 8, 0));
		data[i] ^= 1;
	}
	assert_true(hash_bytes(NULL, 0, 1) != hash_bytes(NULL, 0, 2));
	for (unsigned int bit = 0; bit < 64; bit++) {
		int changed = __builtin_popcountll(hash_u64(12345) ^
						   hash_u64(12345 ^ (UINT64_C(1) << bit)));

		assert_in_range(changed, 12, 52); /* 32 +- 5 sigma */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_finds_removes_and_iterates_nothing),
		cmocka_unit_test(a_second_equal_item_is_refused_and_changes_nothing),
		cmocka_unit_test(an_item_is_copied_in_once_and_found_afterwards),
		cmocka_unit_test(owned_items_are_freed_once_and_removed_ones_are_not),
		cmocka_unit_test(colliding_items_survive_removals_in_any_order),
		cmocka_unit_test(a_random_churn_agrees_with_a_plain_table),
		cmocka_unit_test(a_million_items_are_held_iterated_once_each_and_copied),
		cmocka_unit_test(hashes_depend_on_every_byte_the_length_and_the_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
