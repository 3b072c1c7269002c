/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What glibc keeps in anonymous mappings, told by how it looks: stacks of threads, and arenas. What
 * does not look so is none of them.
 */
#ifndef MEMTRACED_TARGET_GLIBC_GLIBC_MEMORY_H
#define MEMTRACED_TARGET_GLIBC_GLIBC_MEMORY_H

#include "target/glibc/glibc_types.h"

#include <stdbool.h>
#include <stdint.h>

struct memory;
struct memory_map;

/* Reads the memory, and borrows its list of mappings; without threads and a deadline. */
struct glibc_source glibc_source_of(const struct memory *memory);

struct glibc_stack {
	uint64_t vector; /* of the DTV, or 0 */
};

/*
 * Is it a stack that pthread_create has made, of a thread that lives or, kept for the next, is
 * gone? The thread pointer of one that lives is in there, too. On x86-64 and arm64.
 */
bool glibc_stack_find(const struct memory *memory, const struct memory_map *map,
		      struct glibc_stack *ret_stack);

/*
 * Where the usable part of the stack begins that pthread_create has made, or was given, for the
 * thread with this thread pointer: by its descriptor. false: `sp` is not on it, it is the first
 * thread, or it has no such descriptor.
 */
bool glibc_stack_start(const struct memory *memory, uint64_t tls, uint64_t sp, uint64_t *ret_start);

/* A heap of an arena that begins at or behind `from`; false: none in the mapping. */
bool glibc_heap_find(const struct memory *memory, const struct memory_map *map, uint64_t from,
		     uint64_t *ret_start, uint64_t *ret_end);

/* Is it the file of a glibc, whose data hold main_arena? */
bool glibc_is_library(const char *path);

#endif
