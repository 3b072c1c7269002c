/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address ranges that may overlap, flattened so that one binary search finds the winner: of all
 * ranges that hold an address, the one of the highest rank. Symbols, units, functions and JIT code
 * are found with it. Filled, built once, then read only.
 */
#ifndef MEMTRACED_SYMBOL_RANGE_MAP_H
#define MEMTRACED_SYMBOL_RANGE_MAP_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

typedef VEC(struct range) range_vec;

/* All zero: empty. */
struct range_map {
	range_vec ranges; /* empty once built */
	VEC(struct segment) segments;
};

void range_map_done(struct range_map *map);

/* Adds [start, end). 0, -EINVAL for an empty range, or -ENOMEM. Only before range_map_build. */
int range_map_add(struct range_map *map, uint64_t start, uint64_t end, uint64_t rank,
		  uint64_t value);

/* O(n log n). 0 or -ENOMEM. */
int range_map_build(struct range_map *map);

/* False when no range holds the address. O(log n). Only after range_map_build. */
bool range_map_find(const struct range_map *map, uint64_t addr, uint64_t *ret_value);

/* What it takes once built. */
uint64_t range_map_bytes(const struct range_map *map);

#endif
