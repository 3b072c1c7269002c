/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table of numbers, from 1 on, of what lies elsewhere: of a thread's sites, and of all nodes
 * of stacks. Its pages are the process's own. For one thread at a time.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_INDEX_H
#define MEMTRACED_SAMPLE_BOOK_INDEX_H

#include "sample/book_memory.h"

struct book_index {
	uint32_t *places;   /* 0: nothing is there */
	uint32_t n, n_used; /* n: a power of two, or 0 */
};

/* What is looked for; is(): has this number it? */
typedef bool (*book_index_is)(uint32_t number, const void *key);

/* Its number's place, or where that would be put; n is not 0. */
static inline __attribute__((always_inline)) uint32_t *book_index_place(
	const struct book_index *index, uint64_t hash, book_index_is is, const void *key)
{
	for (;; hash++) {
		uint32_t *place = &index->places[hash & (index->n - 1)];

		if (!*place || is(*place, key))
			return place;
	}
}

/* Makes room for one more, which moves places. hash_of: of a number that is there. False: none. */
bool book_index_make_room(struct book_index *index, uint64_t (*hash_of)(uint32_t number));

void book_index_free(struct book_index *index);

#endif
