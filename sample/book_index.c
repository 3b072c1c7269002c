// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_index.h"

#include <string.h>

#define FIRST_PLACES 512U

static bool is_any(uint32_t number, const void *key)
{
	(void)number, (void)key;
	return false;
}

bool book_index_make_room(struct book_index *index, uint64_t (*hash_of)(uint32_t number))
{
	struct book_index larger = { .n = index->n ? index->n * 2 : FIRST_PLACES,
				     .n_used = index->n_used };

	if (index->n && index->n_used < index->n / 2)
		return true;
	larger.places = book_pages(larger.n * sizeof(*larger.places));
	if (!larger.places)
		return index->n_used + 1 < index->n;
	for (uint32_t i = 0; i < index->n; i++)
		if (index->places[i])
			*book_index_place(&larger, hash_of(index->places[i]), is_any, NULL) =
				index->places[i];
	book_index_free(index);
	*index = larger;
	return true;
}

void book_index_free(struct book_index *index)
{
	book_pages_free(index->places, index->n * sizeof(*index->places));
	memset(index, 0, sizeof(*index));
}
