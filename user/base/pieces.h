/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many arrays of 64-bit words with the same ends, as call stacks are: an array has less than
 * PIECE_WORDS first words of its own, and behind them pieces of so many words, each of which is
 * kept once for all arrays. One owner.
 */
#ifndef MEMTRACED_BASE_PIECES_H
#define MEMTRACED_BASE_PIECES_H

#include "base/hashmap.h"

#define PIECE_WORDS 16

struct words_piece {
	uint64_t words[PIECE_WORDS];
	uint32_t users;
};

/* Zero-initialised is empty. */
struct pieces {
	struct hashmap by_words;
};

void pieces_done(struct pieces *pieces);

/* Of an array of n words: its own first ones, and pieces. */
static inline size_t pieces_own(size_t n)
{
	return n % PIECE_WORDS;
}

static inline size_t pieces_count(size_t n)
{
	return n / PIECE_WORDS;
}

/* The pieces of an array of n words, or pointers. 0, or -ENOMEM: there are none. */
int pieces_add(struct pieces *pieces, const void *words, size_t n, struct words_piece **ret_list);

/* An array needs its pieces no more. */
void pieces_drop(struct pieces *pieces, struct words_piece *const *list, size_t count);

/* The word of the array at `index`, which is behind its own ones. */
static inline uint64_t pieces_word(struct words_piece *const *list, size_t n, size_t index)
{
	size_t behind = index - pieces_own(n);

	return list[behind / PIECE_WORDS]->words[behind % PIECE_WORDS];
}

#endif
