/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table of numbers, from 1 on, of what lies elsewhere: of a thread's sites, and of all nodes
 * of stacks. Its pages are the process's own. For one thread at a time.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_INDEX_H
#define MEMTRACED_SAMPLE_BOOK_INDEX_H

#include "sample/book_memory.h"

/* Above a number its hash's upper bits: what differs in them is not looked at. */
#define BOOK_INDEX_NUMBER_BITS 24
#define BOOK_INDEX_NUMBER ((1U << BOOK_INDEX_NUMBER_BITS) - 1)

struct book_index {
	uint32_t *places;   /* 0: nothing is there */
	uint32_t n, n_used; /* n: a power of two, or 0 */
};

/* What is looked for; is(): has this number it? */
typedef bool (*book_index_is)(uint32_t number, const void *key);

/* Its number, or 0; of a hash the lower 32 bits count. */
static inline __attribute__((always_inline)) uint32_t book_index_find(
	const struct book_index *index, uint64_t hash, book_index_is is, const void *key)
{
	for (uint32_t i = (uint32_t)hash; index->n; i++) {
		uint32_t place = index->places[i & (index->n - 1)];

		if (!place)
			break;
		if (!((place ^ (uint32_t)hash) >> BOOK_INDEX_NUMBER_BITS) &&
		    is(place & BOOK_INDEX_NUMBER, key))
			return place & BOOK_INDEX_NUMBER;
	}
	return 0;
}

/* Eighths of the places, until there are twice as many: for what is looked for in most calls. */
enum book_index_filled { BOOK_INDEX_FAST = 4, BOOK_INDEX_SMALL = 7 };

/* Makes room for one more. hash_of: of a number that is there. False: there is none. */
bool book_index_make_room(struct book_index *index, enum book_index_filled filled,
			  uint64_t (*hash_of)(uint32_t number));

/* One that was not found, for which room was made. */
void book_index_put(struct book_index *index, uint64_t hash, uint32_t number);

void book_index_free(struct book_index *index);

#endif
