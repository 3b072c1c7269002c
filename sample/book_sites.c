// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_sites.h"

#define FIRST_PLACES 256

static uint64_t hash_of(uint32_t node, uint32_t function)
{
	return ((uint64_t)node << 8 ^ function) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* The thread's number of the site, or where it would be put. */
static uint32_t *place_of(const struct book_thread *thread, uint32_t node, uint32_t function)
{
	uint64_t at = hash_of(node, function);

	for (;; at++) {
		uint32_t *place = &thread->site_index[at & (thread->site_places - 1)];
		const struct abi_book_site *site = &book.sites[*place];

		if (!*place || (site->node == node && site->function == function))
			return place;
	}
}

static bool make_room(struct book_thread *thread)
{
	uint32_t *old = thread->site_index, n_old = thread->site_places;
	uint32_t n = n_old ? n_old * 2 : FIRST_PLACES;
	uint32_t *places;

	if (n_old && thread->n_sites < n_old / 2)
		return true;
	places = book_pages(n * sizeof(*places));
	if (!places)
		return n_old && thread->n_sites + 1 < n_old;
	thread->site_index = places;
	thread->site_places = n;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i])
			*place_of(thread, book.sites[old[i]].node, book.sites[old[i]].function) =
				old[i];
	book_pages_free(old, n_old * sizeof(*old));
	return true;
}

static __attribute__((noinline)) struct abi_book_site *make_site(struct book_thread *thread,
								 uint32_t node, uint32_t function)
{
	uint32_t number;

	if (!make_room(thread))
		return NULL;
	number = __atomic_add_fetch(&book.header->sites, 1, __ATOMIC_RELAXED);
	if (number >= ABI_BOOK_SITES) {
		__atomic_store_n(&book.header->sites, ABI_BOOK_SITES, __ATOMIC_RELAXED);
		return NULL;
	}
	book.sites[number].node = node;
	book.sites[number].function = (uint16_t)function;
	/* Readers know by it that the rest is there. */
	__atomic_store_n(&book.sites[number].thread, thread->number, __ATOMIC_RELEASE);
	thread->n_sites++;
	*place_of(thread, node, function) = number;
	return &book.sites[number];
}

struct abi_book_site *book_site_find(struct book_thread *thread, uint32_t node, uint32_t function)
{
	struct abi_book_site *site;
	uint32_t number;

	number = thread->site_places ? *place_of(thread, node, function) : 0;
	site = number ? &book.sites[number] : make_site(thread, node, function);
	if (site)
		thread->last_site = site;
	else
		book_lose(ABI_BOOK_LOST_SITES);
	return site;
}
