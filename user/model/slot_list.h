/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slots of processes that are forgotten, sorted, which each part of the model looks its own up in.
 * Header only; no state.
 */
#ifndef MEMTRACED_MODEL_SLOT_LIST_H
#define MEMTRACED_MODEL_SLOT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline int slot_list_compare(const void *item_a, const void *item_b)
{
	const uint32_t *a = item_a, *b = item_b;

	return (*a > *b) - (*a < *b);
}

static inline void slot_list_sort(uint32_t *slots, size_t n)
{
	qsort(slots, n, sizeof(*slots), slot_list_compare);
}

static inline bool slot_list_has(const uint32_t *slots, size_t n, uint32_t slot)
{
	return bsearch(&slot, slots, n, sizeof(*slots), slot_list_compare);
}

#endif
