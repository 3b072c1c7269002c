/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol.h"
#include "symbol/symbol_cache.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int new_cache(void **state)
{
	return symbol_cache_new((struct symbol_cache **)state);
}

static int free_cache(void **state)
{
	symbol_cache_free(*state);
	return 0;
}

static struct place_key key_of(uint64_t offset)
{
	return (struct place_key){ .file_offset = offset, .kind = PLACE_AT };
}

static void keep(struct symbol_cache *cache, uint64_t offset)
{
	struct place_key key = key_of(offset);
	char function[] = "the function", linkage[] = "_Z8function", file[] = "/a/file.c";
	const struct symbol_frame frame = {
		.function = function, .linkage = linkage, .file = file, .line = 7, .offset = offset
	};
	const struct symbol symbol = { .n_frames = 1, .frames = &frame }, *kept = NULL;

	assert_int_equal(symbol_cache_copy(cache, &key, &symbol, &kept), 0);
	function[0] = linkage[0] = file[0] = '?';
	assert_string_equal(kept->frames[0].function, "the function");
	assert_int_equal(symbol_cache_copy(cache, &key, &symbol, &kept), -EEXIST);
}

static void assert_kept(struct symbol_cache *cache, uint64_t offset)
{
	struct place_key key = key_of(offset);
	const struct symbol *symbol = NULL, *again = NULL;

	assert_int_equal(symbol_cache_find(cache, &key, &symbol), 0);
	assert_int_equal(symbol->n_frames, 1);
	assert_string_equal(symbol->frames[0].function, "the function");
	assert_string_equal(symbol->frames[0].linkage, "_Z8function");
	assert_string_equal(symbol->frames[0].file, "/a/file.c");
	assert_int_equal(symbol->frames[0].line, 7);
	assert_int_equal(symbol->frames[0].offset, offset);
	assert_int_equal(symbol_cache_find(cache, &key, &again), 0);
	assert_ptr_equal(again, symbol);
}

static void assert_forgotten(struct symbol_cache *cache, uint64_t offset)
{
	struct place_key key = key_of(offset);
	const struct symbol *symbol;

	assert_int_equal(symbol_cache_find(cache, &key, &symbol), -ENOENT);
}

static void what_is_used_stays_and_what_is_not_goes(void **state)
{
	struct symbol_cache *cache = *state;

	keep(cache, 1);
	keep(cache, 2);
	assert_int_equal(symbol_cache_age(cache, 0), 1);
	for (int round = 0; round < 5; round++) {
		assert_kept(cache, 1);
		assert_int_equal(symbol_cache_age(cache, 0), 1);
	}
	assert_kept(cache, 1);
	assert_forgotten(cache, 2);
}

static void nothing_goes_where_there_is_room(void **state)
{
	struct symbol_cache *cache = *state;
	uint64_t bytes;

	keep(cache, 1);
	keep(cache, 2);
	bytes = symbol_cache_bytes(cache);
	for (int round = 0; round < 5; round++)
		assert_int_equal(symbol_cache_age(cache, bytes), 0);
	assert_kept(cache, 2);
	assert_int_equal(symbol_cache_age(cache, bytes - 1), 1);
	assert_int_equal(symbol_cache_age(cache, bytes - 1), 0);
	assert_kept(cache, 2);
}

static void two_generations_are_all_that_is_held(void **state)
{
	struct symbol_cache *cache = *state;
	uint64_t one, offset = 0;

	for (; offset < 100; offset++)
		keep(cache, offset);
	one = symbol_cache_bytes(cache);
	for (; offset < 10000; offset++) {
		keep(cache, offset);
		assert_true(symbol_cache_age(cache, one - 1) >= 0);
		assert_true(symbol_cache_bytes(cache) <= 2 * one);
	}
	assert_kept(cache, 9999);
	assert_forgotten(cache, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, new_cache, free_cache)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_used_stays_and_what_is_not_goes),
		TEST(nothing_goes_where_there_is_room),
		TEST(two_generations_are_all_that_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
