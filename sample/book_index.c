// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_index.h"

#include <string.h>

#define FIRST_PLACES 512U

static_assert(ABI_BOOK_NODES - 1 <= BOOK_INDEX_NUMBER && ABI_BOOK_SITES - 1 <= BOOK_INDEX_NUMBER &&
		      ABI_BOOK_PAIRS - 1 <= BOOK_INDEX_NUMBER,
	      "numbers");

bool book_index_make_room(struct book_index *index, enum book_index_filled filled,
			  uint64_t (*hash_of)(uint32_t number))
{
	struct book_index larger = { .n = index->n ? index->n * 2 : FIRST_PLACES };

	if (index->n_used < index->n / 8 * filled)
		return true;
	larger.places = book_pages(larger.n * sizeof(*larger.places));
	if (!larger.places)
		return index->n_used + 1 < index->n; /* each search ends at a free place */
	for (uint32_t i = 0; i < index->n; i++) {
		uint32_t number = index->places[i] & BOOK_INDEX_NUMBER;

		if (number)
			book_index_put(&larger, hash_of(number), number);
	}
	book_index_free(index);
	*index = larger;
	return true;
}

void book_index_put(struct book_index *index, uint64_t hash, uint32_t number)
{
	uint32_t i = (uint32_t)hash;

	while (index->places[i & (index->n - 1)])
		i++;
	index->places[i & (index->n - 1)] = ((uint32_t)hash & ~BOOK_INDEX_NUMBER) | number;
	index->n_used++;
}

void book_index_free(struct book_index *index)
{
	book_pages_free(index->places, index->n * sizeof(*index->places));
	memset(index, 0, sizeof(*index));
}
