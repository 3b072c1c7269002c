/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables by which BPF programs unwind user stacks: files (unwind_objects.h), where
 * processes have them mapped (unwind_spaces.h), and when what was given up may be used again.
 * The live source tells it of everything in the order of the ring. Not thread-safe.
 */
#ifndef MEMTRACED_TRACE_UNWIND_UNWIND_TABLES_H
#define MEMTRACED_TRACE_UNWIND_UNWIND_TABLES_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct cfi_facts;
struct programs;
struct unwind_space;
struct unwind_tables;
struct worker;

/*
 * `programs` is borrowed and was loaded with `unwind`; so is the worker, by which files are read. 0
 * or negative errno.
 */
int unwind_tables_new(struct programs *programs, struct worker *worker,
		      struct unwind_tables **ret_tables);
void unwind_tables_free(struct unwind_tables *tables); /* NULL is legal */
DEFINE_CLEANUP(struct unwind_tables, unwind_tables_free)

/* How exact an object's rows are to be. */
enum unwind_rows_kind {
	UNWIND_ROWS_FITTING, /* for any instruction of a small file, else for return addresses */
	UNWIND_ROWS_FULL,    /* for any instruction; without room for these, as fitting */
	UNWIND_ROWS_FULL_OR_NONE, /* the same, but without room none */
};

/*
 * Has an open file's call frame information compiled, or takes it from the cache. *ret_object: its
 * number, 0 when there is no room, or no worker to read it (both are counted), or the file has none
 * that could be read. 0 or -ENOMEM.
 */
int unwind_tables_add(struct unwind_tables *tables, int fd, const struct cfi_facts *facts,
		      enum unwind_rows_kind kind, uint32_t *ret_object);
/* Are its rows right for return addresses only? */
bool unwind_tables_pruned(const struct unwind_tables *tables, uint32_t object);
/* `old` is not found any more, but `now` where it stands in spaces (0: nothing). 0 or -ENOMEM. */
int unwind_tables_replace(struct unwind_tables *tables, uint32_t old, uint32_t now);
/* Is it time to give objects up that stand in no space? used[]: ABI_UNWIND_OBJECTS, which do. */
bool unwind_tables_short(const struct unwind_tables *tables);
void unwind_tables_mark_used(const struct unwind_tables *tables, bool *used);

/* The space of a new process image. 0 or negative errno. */
int unwind_tables_space(struct unwind_tables *tables, uint32_t slot,
			struct unwind_space **ret_space);

/*
 * A mapping of an object's file (0: it has none), which hides what was there. `number`: as of
 * unwind_space_put(). 0 or -ENOMEM.
 */
int unwind_tables_map(struct unwind_tables *tables, struct unwind_space *space, uint64_t start,
		      uint64_t end, uint64_t offset, uint32_t object, uint32_t number);
/* The kernel's own code in each process. */
int unwind_tables_map_vdso(struct unwind_tables *tables, struct unwind_space *space, uint64_t start,
			   uint64_t end);

/* Writes what has changed, before anything that was stopped goes on. 0 or negative errno. */
int unwind_tables_sync(struct unwind_tables *tables);
/* After the ring was drained, and synced: what may be used again is. */
void unwind_tables_drained(struct unwind_tables *tables);

/* Files and changes of spaces for which there was no room. */
uint64_t unwind_tables_refused(const struct unwind_tables *tables);
/* Files whose rows the worker could not be asked for, or died of. */
uint64_t unwind_tables_unread(const struct unwind_tables *tables);

#endif
