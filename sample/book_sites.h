/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread has counted of each site: entries that no other thread writes. */
#ifndef MEMTRACED_SAMPLE_BOOK_SITES_H
#define MEMTRACED_SAMPLE_BOOK_SITES_H

#include "sample/book_threads.h"

/* The thread's entry of a site; NULL (counted): there is no room for one. */
struct abi_book_site *book_site(struct book_thread *thread, uint32_t node, uint32_t function);

enum book_end {
	BOOK_FREED,
	BOOK_TEMPORARY,	  /* freed with no other made between */
	BOOK_FREE_MISSED, /* its address was handed out again */
};

/* A block of so many bytes comes. peak_epoch: as it is before the process's total changes. */
void book_site_add(struct abi_book_site *site, int64_t bytes, uint32_t peak_epoch);
void book_site_remove(struct abi_book_site *site, int64_t bytes, enum book_end how,
		      uint32_t peak_epoch);

#endif
