// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_table.h"

#include <sys/mman.h>

/* Of Linux 5.14 (include/uapi/asm-generic/mman-common.h). */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
/* Of Linux 6.1. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

struct book_blocks book_table;
static uint32_t births_lock;

void book_table_begin(void)
{
	book_pages_free(book_table.births, book_births_bytes(book_table.n));
	births_lock = 0;
	book_blocks_use(&book_table, book.buckets, 0);
}

/*
 * All of its pages are about to be written; one by one that takes three times as long as huge pages
 * do, and more in each access to them.
 */
static void make_pages(struct abi_book_bucket *first, uint64_t n)
{
	const uint64_t step = ABI_BOOK_HUGE_PAGE / sizeof(*first);

	if (book_is_filtered())
		return;
	/* A huge page takes the place of pages, of which there has to be one. */
	for (uint64_t i = 0; i < n && n >= step; i += step)
		__atomic_store_n(&first[i].elsewhere, 0, __ATOMIC_RELAXED);
	if (n < step || madvise(first, n * sizeof(*first), MADV_COLLAPSE))
		(void)madvise(first, n * sizeof(*first), MADV_POPULATE_WRITE);
}

/* Those of blocks so far are not known then. */
static void double_births(void)
{
	size_t bytes = book_births_bytes(book_table.n);

	if (!book_table.births)
		return;
	book_table.births = book_pages_double(book_table.births, bytes);
	if (!book_table.births)
		book_lose(ABI_BOOK_LOST_BIRTHS);
}

static bool double_blocks(void)
{
	uint32_t *word = &book.header->doublings, doublings = *word;
	uint64_t n = book_blocks_elsewhere(&book_table), n_lost;
	uint32_t *places = book_pages((n + 1) * sizeof(*places));

	if (!places || doublings == ABI_BOOK_DOUBLINGS) {
		book_pages_free(places, (n + 1) * sizeof(*places));
		return false;
	}
	make_pages(book_table.buckets + book_table.n, book_table.n);
	double_births();
	__atomic_store_n(word, doublings | ABI_BOOK_DOUBLES, __ATOMIC_SEQ_CST);
	n_lost = book_blocks_double(&book_table, places);
	__atomic_store_n(word, doublings + 1, __ATOMIC_SEQ_CST);
	book_pages_free(places, (n + 1) * sizeof(*places));
	while (n_lost--)
		book_lose(ABI_BOOK_LOST_BLOCKS);
	return true;
}

BOOK_SELDOM bool book_table_grow(struct book_thread *mine, uint64_t n)
{
	bool grown;

	if (!book_threads_hold(mine))
		return false;
	grown = book_table.n != n || double_blocks();
	book_threads_release();
	return grown;
}

/* --- births ---------------------------------------------------------------------------------- */

BOOK_SELDOM void book_table_put_birth(uint64_t address, const struct book_birth *birth)
{
	struct book_birth *kept;

	if (!book_table.births && book_lock(&births_lock)) {
		if (!book_table.births)
			book_table.births = book_pages(book_births_bytes(book_table.n));
		book_unlock(&births_lock);
	}
	kept = book_blocks_birth(&book_table, address);
	if (kept)
		*kept = *birth;
	else
		book_lose(ABI_BOOK_LOST_BIRTHS);
}

BOOK_SELDOM void book_table_take_birth(uint64_t address, struct book_birth *ret_birth)
{
	struct book_birth *birth = book_blocks_birth(&book_table, address);

	if (!birth)
		return;
	*ret_birth = *birth;
	birth->time_ns = 0;
}
