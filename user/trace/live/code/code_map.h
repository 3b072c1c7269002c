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

/* All zero: empty. Ranges are to be read by vec_foreach; code_map.c alone changes them. */
struct code_map {
	VEC(struct code_range) ranges; /* in the order in which they came */
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

/* To an empty one. 0 or -ENOMEM. */
int code_map_copy(struct code_map *to, const struct code_map *from);

/*
 * From when on a mapping of code holds that is only found when the list of a process is read, later
 * than it came: of changes it is told when each was, not what it was. What stood there before the
 * first of them did so until then, and what is read stands there from the last of them on. Of the
 * time between nothing can be proven: what came and went in it was never read.
 *
 *   told:    |first          |last              |first of the next reading
 *   ---------+---------------+---------read-----+------> time
 *   holds:   before | unknown | what was read, until then
 *
 * Of one process; by trace/live/stacks/live_waiting.c and live_changes.c.
 */

/* Changes of which it was told; 0: none. */
struct code_changes {
	uint64_t first_ns, last_ns;
};

/* Zero-initialised: never read. */
struct code_times {
	uint64_t read_ns;	    /* when the last reading began */
	struct code_changes shown;  /* which it shows, but not the one before it, */
	struct code_changes coming; /* and which the next will show */
};

/* A change, of which it may be told after the reading that shows it. */
void code_times_changed(struct code_times *times, uint64_t time_ns);
/* The list is read now, after everything that is known of the reading before was used. */
void code_times_read(struct code_times *times, uint64_t now_ns);

/* Until when what the reading does not find any more is proven to have stood. */
uint64_t code_times_gone_ns(const struct code_times *times);
/*
 * From when on what the reading has found is proven to stand; all_told: it was told of each change
 * before it. asked_ns: where it was told of none, what it was read for had seen it by then.
 */
uint64_t code_times_came_ns(const struct code_times *times, bool all_told, uint64_t asked_ns);

#endif
