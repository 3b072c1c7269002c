/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable mappings of one process over time. A mapping holds for from_ns <= t < to_ns.
 * What a forked child inherits is not copied: the child's own list holds what changed after the
 * fork, with holes where it unmapped what it had inherited; the model asks the parent for the rest.
 */
#ifndef MEMTRACED_MODEL_MAPPINGS_H
#define MEMTRACED_MODEL_MAPPINGS_H

#include "base/vec.h"
#include "model/object_table.h"

#include <stdint.h>

#define MAPPING_HOLDS UINT64_MAX /* to_ns of a mapping that is still there */

struct mapping {
	uint64_t start, end, file_offset;
	uint64_t from_ns, to_ns;
	const struct model_object *object; /* NULL: a hole, nothing is mapped there */
};

/* Zero-initialised is empty. */
struct mappings {
	VEC(struct mapping) live; /* ascending by start, disjoint */
	VEC(struct mapping) past; /* ascending by (start, from_ns) */
	uint64_t longest_past;	  /* bytes: how far below an address its mapping can start */
};

void mappings_done(struct mappings *mappings);

/*
 * From time_ns on `object` is mapped there, in place of what was (MAP_FIXED). The same mapping
 * reported twice stays one, from the earlier time on. 0 or -ENOMEM; an empty range is ignored.
 */
int mappings_add(struct mappings *mappings, const struct record_mapping *record,
		 const struct model_object *object);

/* How many are kept, those that hold no more among them. */
size_t mappings_count(const struct mappings *mappings);

/* From time_ns on nothing is mapped there; `leave_hole`: so that inherited mappings are hidden. */
int mappings_remove(struct mappings *mappings, uint64_t start, uint64_t end, uint64_t time_ns,
		    bool leave_hole);

/* The mapping or hole at addr that held at time_ns, or NULL. Valid until the next change. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t addr,
				    uint64_t time_ns);

/*
 * The mapping of file offset `file_offset` of an object of this path (an interned string) that
 * held at time_ns, or NULL.
 */
const struct mapping *mappings_find_file(const struct mappings *mappings, const char *path,
					 uint64_t file_offset, uint64_t time_ns);
/* The lowest mapping of an object of this path (an interned string) at any time, or NULL. */
const struct mapping *mappings_find_path(const struct mappings *mappings, const char *path);

#endif
