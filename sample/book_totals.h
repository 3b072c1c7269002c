/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live bytes of the process, and their peak, to the byte. So that threads which allocate and
 * free side by side do not all write one word, each keeps what it has freed as its credit, and
 * allocates from that without a word to the others:
 *
 *   live bytes = header.live_bytes - credits <= header.live_bytes <= header.peak_bytes
 *
 * The peak can only rise where a thread has too little credit and the sum would be above it: then
 * the credits of all are taken back first, so that it rises to what has really been live.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_TOTALS_H
#define MEMTRACED_SAMPLE_BOOK_TOTALS_H

#include "sample/book_threads.h"

/* Of a process that begins a book. */
void book_totals_begin(void);

void book_keep_cut(uint32_t cut);

/* Before the first change of a call: keeps the peak that belongs to the last cut. */
static inline void book_enter_cut(void)
{
	uint32_t cut = __atomic_load_n(&book.header->cut_epoch, __ATOMIC_RELAXED);

	if (BOOK_RARELY(book.header->cut_epoch_seen != cut))
		book_keep_cut(cut);
}

static inline uint32_t book_peak_epoch(void)
{
	return __atomic_load_n(&book.header->peak_epoch, __ATOMIC_RELAXED);
}

/* Several threads' part of book_add_bytes(). */
void book_add_shared(struct book_thread *thread, int64_t bytes, uint32_t epoch);

/*
 * epoch: that the site's change was made under; where another thread has begun another meanwhile,
 * these bytes may be on the wrong side of that peak.
 */
static inline void book_add_bytes(struct book_thread *thread, int64_t bytes, uint32_t epoch)
{
	struct abi_book_header *h = book.header;

	if (!book_is_alone()) {
		book_add_shared(thread, bytes, epoch);
		return;
	}
	h->live_bytes += bytes;
	if (h->live_bytes > h->peak_bytes) {
		h->peak_bytes = h->live_bytes;
		h->peak_epoch++;
	}
}

/* While no thread is at the book: all that is live. */
int64_t book_live_bytes(void);

#endif
