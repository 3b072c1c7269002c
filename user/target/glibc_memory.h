/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What glibc keeps in anonymous mappings, told by how it looks: stacks of threads, and arenas. What
 * does not look so is none of them.
 */
#ifndef MEMTRACED_TARGET_GLIBC_MEMORY_H
#define MEMTRACED_TARGET_GLIBC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory;
struct memory_map;

struct glibc_stack {
	uint64_t vector; /* of the DTV, or 0 */
};

/*
 * Is it a stack that pthread_create has made, of a thread that lives or, kept for the next, is
 * gone? The thread pointer of one that lives is in there, too. On x86-64 and arm64.
 */
bool glibc_stack_find(const struct memory *memory, const struct memory_map *map,
		      struct glibc_stack *ret_stack);

/* A heap of an arena that begins at or behind `from`; false: none in the mapping. */
bool glibc_heap_find(const struct memory *memory, const struct memory_map *map, uint64_t from,
		     uint64_t *ret_start, uint64_t *ret_end);

/* Is it the file of a glibc, whose data hold main_arena? */
bool glibc_is_library(const char *path);

#endif
