/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/books/address_set.h"

#include "base/hashmap.h"

#include <errno.h>
#include <stdlib.h>

#define LEAST_PLACES 1024

void address_set_done(struct address_set *set)
{
	free(set->places);
}

static int put(struct address_set *set, uint64_t address)
{
	size_t at = hash_u64(address) & (set->cap - 1);

	while (set->places[at] && set->places[at] != address)
		at = (at + 1) & (set->cap - 1);
	if (set->places[at])
		return 0;
	set->places[at] = address;
	set->n++;
	return 1;
}

static int grow(struct address_set *set)
{
	struct address_set larger = { .cap = set->cap ? 2 * set->cap : LEAST_PLACES };

	larger.places = calloc(larger.cap, sizeof(*larger.places));
	if (!larger.places)
		return -ENOMEM;
	for (size_t i = 0; i < set->cap; i++)
		if (set->places[i])
			(void)put(&larger, set->places[i]); /* none is there twice */
	free(set->places);
	*set = larger;
	return 0;
}

int address_set_add(struct address_set *set, uint64_t address)
{
	int r = 4 * set->n < 3 * set->cap ? 0 : grow(set);

	return r ? r : put(set, address);
}
