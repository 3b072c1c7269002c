/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MOST 100

/* What an array of n words is told to be. */
static void assert_words(const uint64_t *words, size_t n, struct words_piece *const *list)
{
	for (size_t i = pieces_own(n); i < n; i++)
		assert_int_equal(pieces_word(list, n, i), words[i]);
}

static void words_behind_the_own_ones_are_in_pieces(void **state)
{
	struct pieces pieces = { 0 };
	uint64_t words[MOST];

	(void)state;
	for (size_t i = 0; i < MOST; i++)
		words[i] = i * i;
	for (size_t n = 0; n <= MOST; n++) {
		struct words_piece *list[MOST / PIECE_WORDS];

		assert_int_equal(pieces_own(n) + PIECE_WORDS * pieces_count(n), n);
		assert_int_equal(pieces_add(&pieces, words, n, list), 0);
		assert_words(words, n, list);
	}
	pieces_done(&pieces);
}

static void equal_pieces_are_one_until_no_array_has_them(void **state)
{
	uint64_t longer[3 * PIECE_WORDS + 1], *shorter = longer + PIECE_WORDS + 1;
	struct words_piece *of_longer[3], *of_shorter[2];
	struct pieces pieces = { 0 };

	(void)state;
	for (size_t i = 0; i < 3 * PIECE_WORDS + 1; i++)
		longer[i] = i;
	assert_int_equal(pieces_add(&pieces, longer, 3 * PIECE_WORDS + 1, of_longer), 0);
	assert_int_equal(pieces_add(&pieces, shorter, 2 * PIECE_WORDS, of_shorter), 0);
	assert_ptr_equal(of_shorter[0], of_longer[1]);
	assert_ptr_equal(of_shorter[1], of_longer[2]);
	assert_int_equal(pieces.by_words.len, 3);
	pieces_drop(&pieces, of_longer, 3);
	assert_int_equal(pieces.by_words.len, 2);
	assert_words(shorter, 2 * PIECE_WORDS, of_shorter);
	pieces_drop(&pieces, of_shorter, 2);
	assert_int_equal(pieces.by_words.len, 0);
	pieces_done(&pieces);
}

/* What hash_u64() makes h of. */
static uint64_t unhash(uint64_t h)
{
	static const uint64_t factors[] = { UINT64_C(0xc4ceb9fe1a85ec53),
					    UINT64_C(0xff51afd7ed558ccd) };

	for (size_t i = 0; i < 2; i++) {
		uint64_t inverse = factors[i];

		/* Each step doubles how many of its lower bits are right, three at first. */
		for (size_t step = 0; step < 5; step++)
			inverse *= 2 - factors[i] * inverse;
		h = (h ^ h >> 33) * inverse;
	}
	return h ^ h >> 33;
}

#define COLLIDING 200000

/*
 * Whoever chooses the words can have any hash of them. If it were the same one for all, this would
 * compare each with all others, which takes minutes.
 */
static void words_that_were_chosen_to_have_one_hash_are_not_slow(void **state)
{
	struct pieces pieces = { 0 };

	(void)state;
	assert_int_equal(unhash(hash_u64(12345)), 12345);
	for (uint64_t i = 0; i < COLLIDING; i++) {
		uint64_t words[PIECE_WORDS] = { i }, h = 0;
		struct words_piece *list[1];

		for (size_t k = 0; k < PIECE_WORDS - 1; k++)
			h = hash_u64(h ^ words[k]);
		words[PIECE_WORDS - 1] = h ^ unhash(1);
		assert_int_equal(hash_u64(h ^ words[PIECE_WORDS - 1]), 1);
		assert_int_equal(pieces_add(&pieces, words, PIECE_WORDS, list), 0);
	}
	assert_int_equal(pieces.by_words.len, COLLIDING);
	pieces_done(&pieces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_behind_the_own_ones_are_in_pieces),
		cmocka_unit_test(equal_pieces_are_one_until_no_array_has_them),
		cmocka_unit_test(words_that_were_chosen_to_have_one_hash_are_not_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
