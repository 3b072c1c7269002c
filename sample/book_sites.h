/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread has counted of each site: entries that no other thread writes. */
#ifndef MEMTRACED_SAMPLE_BOOK_SITES_H
#define MEMTRACED_SAMPLE_BOOK_SITES_H

#include "sample/book_threads.h"

/* As book_site(), which has seen that it is not the last one. */
struct abi_book_site *book_site_find(struct book_thread *thread, uint32_t node, uint32_t function);

/* The thread's entry of a site; NULL (counted): there is no room for one. */
static inline struct abi_book_site *book_site(struct book_thread *thread, uint32_t node,
					      uint32_t function)
{
	struct abi_book_site *site = thread->last_site;

	if (site && site->node == node && site->function == function)
		return site;
	return book_site_find(thread, node, function);
}

enum book_end {
	BOOK_FREED,
	BOOK_TEMPORARY,	  /* freed with no other made between */
	BOOK_FREE_MISSED, /* its address was handed out again */
};

/* What it is now belongs to this cut. */
void book_site_keep_cut(struct abi_book_site *site, uint32_t cut);

/*
 * Keeps what belongs to the last cut and the last peak before the site changes; the daemon knows
 * by the cut's epoch which of its counts were those at the cut (bpf/site.bpf.h,
 * site_enter_epochs()).
 */
static inline void book_site_enter_epochs(struct abi_book_site *site, uint32_t peak_epoch)
{
	uint32_t cut = __atomic_load_n(&book.header->cut_epoch, __ATOMIC_RELAXED);

	if (BOOK_RARELY(site->cut_epoch != cut))
		book_site_keep_cut(site, cut);
	if (site->peak_epoch != peak_epoch) {
		site->peak_bytes = site->now.live_bytes;
		site->now.peak_blocks = site->now.live_blocks;
		site->peak_epoch = peak_epoch;
	}
}

/*
 * A block of so many bytes comes at this time of the book's clock. peak_epoch: as it is before the
 * process's total changes.
 */
static inline void book_site_add(struct abi_book_site *site, int64_t bytes, uint32_t peak_epoch,
				 uint64_t now_ns)
{
	struct abi_site_counts *now = &site->now;

	book_site_enter_epochs(site, peak_epoch);
	now->live_bytes += bytes;
	now->live_blocks++;
	now->allocs++;
	now->bytes += (uint64_t)bytes;
	now->lifetimes -= now_ns >> ABI_CLOCK_SHIFT;
}

static inline void book_site_remove(struct abi_book_site *site, int64_t bytes, enum book_end how,
				    uint32_t peak_epoch, uint64_t now_ns)
{
	struct abi_site_counts *now = &site->now;

	book_site_enter_epochs(site, peak_epoch);
	now->live_bytes -= bytes;
	now->live_blocks--;
	now->lifetimes += now_ns >> ABI_CLOCK_SHIFT;
	if (how == BOOK_TEMPORARY)
		now->temporary++;
	if (how == BOOK_FREE_MISSED)
		now->missed_frees++;
}

#endif
