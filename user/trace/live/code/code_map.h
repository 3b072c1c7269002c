/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable mappings that one process has, as far as they are known. Pure; who changes it
 * records that and tells the unwinder (trace/live/code/live_code.c).
 */
#ifndef MEMTRACED_TRACE_LIVE_CODE_MAP_H
#define MEMTRACED_TRACE_LIVE_CODE_MAP_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct object;
struct unopened_file;

struct code_range {
	uint64_t start, end, offset;
	struct object *object; /* NULL: not a file */
	/* NULL: it could be opened, or never will be (objects.h) */
	const struct unopened_file *unopened;
	bool vdso;
};

/* A range that went at that time. */
struct code_gone {
	uint64_t start, end, to_ns;
};
/* The newest that are remembered. */
#define CODE_GONE_MOST 4096U

/* All zero: empty. Ranges are to be read by vec_foreach; code_map.c alone changes them. */
struct code_map {
	VEC(struct code_range) ranges; /* in the order in which they came */
	VEC(struct code_gone) gone;    /* in the order in which they went */
};

void code_map_done(struct code_map *map);

/* The newest that covers the address, as a later mapping replaces an earlier one; or NULL. */
const struct code_range *code_map_find(const struct code_map *map, uint64_t addr);

/* 0 or -ENOMEM. */
int code_map_add(struct code_map *map, const struct code_range *range);
/* The i-th could not be opened before: it is of this file. */
void code_map_set_object(struct code_map *map, size_t i, struct object *object);

/*
 * Removes the ranges for which remove() returns 1, not those for which it returns 0. 0, or what
 * negative errno it returned, which ends it: that range and those behind it stay.
 */
typedef int (*code_map_remove_fn)(const struct code_range *range, void *userdata);
int code_map_remove(struct code_map *map, code_map_remove_fn remove, void *userdata);

/* A range is gone, which is to be remembered. 0 or -ENOMEM. */
int code_map_note_gone(struct code_map *map, const struct code_range *range, uint64_t time_ns);
/* When what was at the address went first after that time; 0: it has not, as far as is known. */
uint64_t code_map_gone_after(const struct code_map *map, uint64_t addr, uint64_t after_ns);

/* To an empty one, without what is gone. 0 or -ENOMEM. */
int code_map_copy(struct code_map *to, const struct code_map *from);

#endif
