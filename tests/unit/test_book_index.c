/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/book_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MANY 100000U

static struct book_index indexed;
static unsigned looked_at;

static uint64_t mixed(uint32_t number)
{
	return number * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* All at one place, which is the last one at first; in their upper bits they differ. */
static uint64_t at_the_last_place(uint32_t number)
{
	return (uint64_t)number << BOOK_INDEX_NUMBER_BITS | (BOOK_INDEX_NUMBER & ~0U >> 8);
}

static uint64_t all_the_same(uint32_t number)
{
	(void)number;
	return 511;
}

static bool is_number(uint32_t number, const void *key)
{
	looked_at++;
	return number == *(const uint32_t *)key;
}

static uint32_t find(uint64_t (*hash_of)(uint32_t number), uint32_t number)
{
	return book_index_find(&indexed, hash_of(number), is_number, &number);
}

static void put(uint64_t (*hash_of)(uint32_t number), uint32_t number,
		enum book_index_filled filled)
{
	assert_int_equal(find(hash_of, number), 0);
	assert_true(book_index_make_room(&indexed, filled, hash_of));
	book_index_put(&indexed, hash_of(number), number);
}

static int done(void **state)
{
	(void)state;
	book_index_free(&indexed);
	return 0;
}

static void check_all(uint64_t (*hash_of)(uint32_t number), uint32_t n)
{
	for (uint32_t number = 1; number <= n; number++) {
		put(hash_of, number, number & 1 ? BOOK_INDEX_SMALL : BOOK_INDEX_FAST);
		assert_int_equal(find(hash_of, number), number);
	}
	assert_int_equal(indexed.n_used, n);
	for (uint32_t number = 1; number <= n; number++)
		assert_int_equal(find(hash_of, number), number);
	assert_int_equal(find(hash_of, n + 1), 0);
	book_index_free(&indexed);
	assert_int_equal(find(hash_of, 1), 0);
}

static void numbers_are_found_whatever_their_hashes(void **state)
{
	(void)state;
	check_all(mixed, MANY);
	check_all(at_the_last_place, 2000);
	check_all(all_the_same, 2000);
}

static void the_largest_number_is_found(void **state)
{
	(void)state;
	put(mixed, BOOK_INDEX_NUMBER, BOOK_INDEX_SMALL);
	put(mixed, 1, BOOK_INDEX_SMALL);
	assert_int_equal(find(mixed, BOOK_INDEX_NUMBER), BOOK_INDEX_NUMBER);
	assert_int_equal(find(mixed, 1), 1);
}

/* Where upper bits differ, what has the number is not looked at. */
static void others_of_the_same_place_are_not_looked_at(void **state)
{
	(void)state;
	for (uint32_t number = 1; number <= 200; number++)
		put(at_the_last_place, number, BOOK_INDEX_SMALL);
	looked_at = 0;
	for (uint32_t number = 1; number <= 200; number++)
		assert_int_equal(find(at_the_last_place, number), number);
	assert_int_equal(looked_at, 200);
}

static void places_are_filled_as_far_as_is_asked(void **state)
{
	static const enum book_index_filled filled[] = { BOOK_INDEX_FAST, BOOK_INDEX_SMALL };

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint32_t number = 0, n;

		do
			put(mixed, ++number, filled[i]);
		while (indexed.n_used < 1000);
		n = indexed.n;
		while (indexed.n == n)
			put(mixed, ++number, filled[i]);
		assert_int_equal(indexed.n, 2 * n);
		assert_int_equal(indexed.n_used - 1, n / 8 * filled[i]);
		book_index_free(&indexed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(numbers_are_found_whatever_their_hashes, done),
		cmocka_unit_test_teardown(the_largest_number_is_found, done),
		cmocka_unit_test_teardown(others_of_the_same_place_are_not_looked_at, done),
		cmocka_unit_test_teardown(places_are_filled_as_far_as_is_asked, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
