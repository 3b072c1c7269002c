/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects whose files are read at the moment, by number; those used last. Part of the worker,
 * which has nobody's word for the numbers but the daemon's.
 */
#ifndef MEMTRACED_SYMBOL_OBJECT_STORE_H
#define MEMTRACED_SYMBOL_OBJECT_STORE_H

#include "base/cleanup.h"
#include "symbol/object_symbols.h"

struct object_store;

struct object_limits {
	uint64_t open, open_bytes;
};

struct object_counts {
	uint64_t open;
	uint64_t open_bytes; /* object_symbols_bytes */
	uint64_t reads;	     /* how often an object was read */
};

int object_store_new(struct object_store **ret_store);
void object_store_free(struct object_store *store); /* NULL is legal */
DEFINE_CLEANUP(struct object_store, object_store_free)

/*
 * The object of that number, from `files` unless it is held; then as many as are too many are
 * given up, this one never. Valid until the next call. As object_symbols_new.
 */
int object_store_find(struct object_store *store, uint64_t id, const struct object_files *files,
		      const struct object_limits *limits, struct object_symbols **ret_object);

/* Gives the object of that number up, if it is held. */
void object_store_forget(struct object_store *store, uint64_t id);

const struct object_counts *object_store_counts(const struct object_store *store);

#endif
