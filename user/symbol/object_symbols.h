/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of one object, read: its functions, inlined calls and lines by file offset. Part of the
 * worker (symbol/symbol_server.h), as it reads what others wrote.
 */
#ifndef MEMTRACED_SYMBOL_OBJECT_SYMBOLS_H
#define MEMTRACED_SYMBOL_OBJECT_SYMBOLS_H

#include "base/cleanup.h"
#include "symbol/dwarf_index.h"
#include "symbol/elf_facts.h"
#include "symbol/symbol.h"

struct names;
struct object_symbols;

#define OBJECT_MAX_FRAMES DWARF_INDEX_MAX_FRAMES

/* What is mapped; its separate debug file; the common file that dwz made. */
enum object_file { OBJECT_IMAGE, OBJECT_DEBUG, OBJECT_ALT, OBJECT_FILES };

/* Each has been looked at before, when it had this stamp. */
struct object_files {
	int fds[OBJECT_FILES]; /* -1: there is none */
	struct elf_stamp stamps[OBJECT_FILES];
};

/* A place in code: an offset in the object's file, or the byte before it. */
struct object_place {
	uint64_t file_offset;
	bool is_call;
};

/* What is at a place, as in struct symbol. */
struct symbol_found {
	size_t n_frames; /* 1 at least */
	struct symbol_frame frames[OBJECT_MAX_FRAMES];
	struct symbol_callee callee;
};

/*
 * Strings are the pool's. 0 (also where nothing is known: one frame says so) or -ENOMEM.
 */
int object_symbols_find(struct object_symbols *object, const struct object_place *place,
			struct names *names, struct symbol_found *ret_found);

/*
 * The objects whose files are read at the moment, by number; those used last. Part of the worker,
 * which has the daemon's word alone for the numbers.
 */

struct object_store;

struct object_limits {
	uint64_t open, open_bytes;
};

struct object_counts {
	uint64_t open;
	uint64_t open_bytes; /* of sections that were read, and of what was made of symbols */
	uint64_t reads;	     /* how often an object was read */
};

int object_store_new(struct object_store **ret_store);
void object_store_free(struct object_store *store); /* NULL is legal */
DEFINE_CLEANUP(struct object_store, object_store_free)

/*
 * The object of that number, from `files` unless it is held; then as many as are too many are
 * given up, this one never. Valid until the next call. 0; -ESTALE: the image is another file by
 * now, or was written to meanwhile; or -ENOMEM.
 */
int object_store_find(struct object_store *store, uint64_t id, const struct object_files *files,
		      const struct object_limits *limits, struct object_symbols **ret_object);

/* Gives the object of that number up, if it is held. */
void object_store_forget(struct object_store *store, uint64_t id);

const struct object_counts *object_store_counts(const struct object_store *store);

#endif
