/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files (and vdso, JIT and anonymous code) that processes of a run mapped, each once: equal
 * objects have equal pointers. Owned by the model. Whether and how an object can be opened is for
 * others to find out.
 */
#ifndef MEMTRACED_MODEL_OBJECT_TABLE_H
#define MEMTRACED_MODEL_OBJECT_TABLE_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "model/strings.h"
#include "trace/record/record.h"

struct model_object {
	size_t index;	  /* in order of appearance */
	const char *path; /* as the target sees it; interned */
	/* Where this host could open it when it was first mapped; may be NULL. */
	const char *local_path;
	image_t image; /* the process that mapped it first */
	uint64_t dev, ino;
	uint8_t build_id[RECORD_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: none known */
	bool is_anonymous;    /* by path, without a build ID: asked of each place of each stack */
};

struct object_table {
	VEC(const struct model_object *) list;
	struct strings *strings;
	struct hashmap map; /* of the list */
};

/* `strings` must outlive the objects. */
void object_table_init(struct object_table *ret_table, struct strings *strings);
void object_table_done(struct object_table *table);

/* The object of a mapping: one per (path, dev, ino, build ID). 0 or -ENOMEM. */
int object_table_intern(struct object_table *table, const struct record_mapping *mapping,
			const struct model_object **ret_object);

/* The kernel's code and that of its modules: offsets are addresses. */
bool model_object_is_kernel(const struct model_object *object);

/* Code that belongs to no file: the run-time's own, where JIT maps apply. */
bool object_path_is_anonymous(const char *path);

#endif
