/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of addresses as ranges: ascending, disjoint, neighbours merged. Zero-initialised is empty.
 */
#ifndef MEMTRACED_BASE_RANGES_H
#define MEMTRACED_BASE_RANGES_H

#include "base/vec.h"

#include <stdint.h>

struct range {
	uint64_t start, end;
};

struct ranges {
	VEC(struct range) list;
};

/* Adds [start, end); an empty range is ignored. O(log n), and the move of what follows. */
int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end);
/* Takes [start, end) out, which may split a range. 0 or -ENOMEM (nothing was changed then). */
int ranges_remove(struct ranges *ranges, uint64_t start, uint64_t end);
/* Replaces what is in `to`. 0 or -ENOMEM. */
int ranges_copy(struct ranges *to, const struct ranges *from);
void ranges_done(struct ranges *ranges);

#endif
