/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address ranges that may overlap, flattened so that one binary search finds the winner: of all
 * ranges that hold an address, the one of the highest rank. Symbols, units, functions and JIT code
 * are found with it. Filled, built once, then read only.
 */
#ifndef MEMTRACED_SYMBOL_RANGE_MAP_H
#define MEMTRACED_SYMBOL_RANGE_MAP_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct range_map;

/* 0 or -ENOMEM. */
int range_map_new(struct range_map **ret_map);
void range_map_free(struct range_map *map); /* NULL is legal */
DEFINE_CLEANUP(struct range_map, range_map_free)

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
