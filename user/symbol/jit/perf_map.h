/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of a /tmp/perf-PID.map, in which JIT compilers say where their code is: lines
 * "START SIZE NAME" in hex, in any order of addresses; where lines overlap, the later one is the
 * newer code.
 */
#ifndef MEMTRACED_SYMBOL_JIT_PERF_MAP_H
#define MEMTRACED_SYMBOL_JIT_PERF_MAP_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_map;

struct perf_map_entry {
	uint64_t start;
	uint64_t size_bytes;
	const char *name; /* the map's */
	size_t end;	  /* of its line in the text, with the newline */
};

/* Copies the text. 0 or -ENOMEM; malformed lines (an entry of no bytes is one) are skipped. */
int perf_map_new(const char *text, size_t len, struct perf_map **ret_map);
void perf_map_free(struct perf_map *map); /* NULL is legal */
DEFINE_CLEANUP(struct perf_map, perf_map_free)

/* In the order of the text. */
size_t perf_map_count(const struct perf_map *map);
const struct perf_map_entry *perf_map_at(const struct perf_map *map, size_t index);

/* How many lines were skipped; empty lines are not counted. */
uint64_t perf_map_malformed(const struct perf_map *map);

#endif
