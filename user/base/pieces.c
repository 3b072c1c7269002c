/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(void *) == sizeof(uint64_t), "pointers are words");

static uint64_t piece_hash(const void *item)
{
	const struct words_piece *piece = item;
	uint64_t h = hash_seed();

	for (size_t i = 0; i < PIECE_WORDS; i++)
		h = hash_u64(h ^ piece->words[i]);
	return h;
}

static bool piece_equal(const void *item_a, const void *item_b)
{
	const struct words_piece *a = item_a, *b = item_b;

	return memcmp(a->words, b->words, sizeof(a->words)) == 0;
}

static const struct hashmap_ops piece_ops = { piece_hash, piece_equal, free };

void pieces_done(struct pieces *pieces)
{
	hashmap_done(&pieces->by_words);
}

static int add_piece(struct pieces *pieces, const void *words, struct words_piece **ret_piece)
{
	struct words_piece key = { .users = 0 }, *piece;

	memcpy(key.words, words, sizeof(key.words));
	piece = hashmap_intern(&pieces->by_words, &key, sizeof(key), NULL);
	if (!piece)
		return -ENOMEM;
	piece->users++;
	*ret_piece = piece;
	return 0;
}

int pieces_add(struct pieces *pieces, const void *words, size_t n, struct words_piece **ret_list)
{
	const unsigned char *shared = words;

	if (pieces_count(n) == 0)
		return 0; /* there may be no words */
	shared += pieces_own(n) * sizeof(uint64_t);
	pieces->by_words.ops = &piece_ops;
	for (size_t i = 0; i < pieces_count(n); i++) {
		int r = add_piece(pieces, shared + i * sizeof(ret_list[i]->words), &ret_list[i]);

		if (r < 0) {
			pieces_drop(pieces, ret_list, i);
			return r;
		}
	}
	return 0;
}

void pieces_drop(struct pieces *pieces, struct words_piece *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (--list[i]->users == 0)
			free(hashmap_remove(&pieces->by_words, list[i]));
}
