/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files (and vdso, JIT and anonymous code) that processes of a run mapped, each once: equal
 * objects have equal pointers. Owned by the model. Whether and how an object can be opened is for
 * others to find out.
 */
#ifndef MEMTRACED_MODEL_OBJECT_TABLE_H
#define MEMTRACED_MODEL_OBJECT_TABLE_H

#include "model/strings.h"
#include "trace/record/record.h"

struct model_object {
	size_t index;	  /* in order of appearance */
	const char *path; /* as the target sees it; interned */
	/* Where this host could open it when it was first mapped; may be NULL. */
	const char *local_path;
	uint32_t slot; /* the process that mapped it first */
	uint64_t dev, ino;
	uint8_t build_id[RECORD_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: none known */
	bool is_anonymous;    /* by path, without a build ID: asked of each place of each stack */
};

struct object_table;

/* `strings` must outlive the objects. */
int object_table_new(struct strings *strings, struct object_table **ret_table);
/* NULL is legal. */
void object_table_free(struct object_table *table);
DEFINE_CLEANUP(struct object_table, object_table_free)

/* The object of a mapping: one per (path, dev, ino, build ID). 0 or -ENOMEM. */
int object_table_intern(struct object_table *table, const struct record_mapping *mapping,
			const struct model_object **ret_object);

size_t object_table_count(const struct object_table *table);
const struct model_object *object_table_get(const struct object_table *table, size_t index);

/* The kernel's code and that of its modules: offsets are addresses. */
bool model_object_is_kernel(const struct model_object *object);

/* Code that belongs to no file: the run-time's own, where JIT maps apply. */
bool object_path_is_anonymous(const char *path);

#endif
