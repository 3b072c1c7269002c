// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_sites.h"

struct site_key {
	uint32_t node, function;
};

static uint64_t hash_of(uint32_t node, uint32_t function)
{
	return ((uint64_t)node << 8 ^ function) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static uint64_t hash_of_site(uint32_t number)
{
	return hash_of(book.sites[number].node, book.sites[number].function);
}

static bool is_site(uint32_t number, const void *key)
{
	const struct site_key *k = key;

	return book.sites[number].node == k->node && book.sites[number].function == k->function;
}

static __attribute__((noinline)) struct abi_book_site *make_site(struct book_thread *thread,
								 const struct site_key *key)
{
	uint32_t number;

	if (!book_index_make_room(&thread->sites, BOOK_INDEX_FAST, hash_of_site))
		return NULL;
	number = book_next_number(&book.header->sites, ABI_BOOK_SITES);
	if (!number)
		return NULL;
	book.sites[number].node = key->node;
	book.sites[number].function = (uint16_t)key->function;
	/* It was nothing at the last cut, as is what nobody wrote. */
	book.sites[number].cut_epoch = __atomic_load_n(&book.header->cut_epoch, __ATOMIC_RELAXED);
	/* Readers know by it that the rest is there. */
	__atomic_store_n(&book.sites[number].thread, (uint16_t)thread->number, __ATOMIC_RELEASE);
	book_index_put(&thread->sites, hash_of(key->node, key->function), number);
	return &book.sites[number];
}

struct abi_book_site *book_site_find(struct book_thread *thread, uint32_t node, uint32_t function)
{
	const struct site_key key = { node, function };
	uint32_t number = book_index_find(&thread->sites, hash_of(node, function), is_site, &key);
	struct abi_book_site *site = number ? &book.sites[number] : make_site(thread, &key);

	if (site)
		thread->last_site = site;
	else
		book_lose(ABI_BOOK_LOST_SITES);
	return site;
}

BOOK_SELDOM void book_site_keep_cut(struct abi_book_site *site, uint32_t cut)
{
	struct abi_book_site_cut *kept = &book.cuts[site - book.sites];
	bool had_peak = site->peak_epoch == book.header->cut_peak_epoch;

	kept->counts = site->now;
	kept->peak_bytes = had_peak ? site->peak_bytes : site->now.live_bytes;
	if (!had_peak)
		kept->counts.peak_blocks = site->now.live_blocks;
	__atomic_store_n(&site->cut_epoch, cut, __ATOMIC_RELEASE);
}
