/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of blocks, each once, in 11 to 22 bytes: those that were told while a table is
 * doubled.
 */
#ifndef MEMTRACED_TRACE_BOOKS_ADDRESS_SET_H
#define MEMTRACED_TRACE_BOOKS_ADDRESS_SET_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct address_set {
	uint64_t *places; /* of one address each, or 0 */
	size_t cap, n;	  /* cap: 0 or a power of two */
};

void address_set_done(struct address_set *set);

/* Of an address that is not 0. 1: it is new, 0: it was there, -ENOMEM. */
int address_set_add(struct address_set *set, uint64_t address);

#endif
