/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows and rules of executable files in the unwinder's maps (bpf/abi_unwind.h). What is published
 * is never changed: who has found an object in a map can go on reading it. Not thread-safe.
 */
#ifndef MEMTRACED_TRACE_UNWIND_UNWIND_OBJECTS_H
#define MEMTRACED_TRACE_UNWIND_UNWIND_OBJECTS_H

#include "base/cleanup.h"
#include "bpf/abi_unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memtraced_bpf;
struct cfi_rows;
struct unwind_objects;

/*
 * Entries of the map `unwind_rows`: the rows of glibc, libstdc++ and some ten times as many. Where
 * large files have all their rows it is a chunk: for one that is added later the kernel waits.
 */
#define UNWIND_FIRST_ROWS (1U << 18)

/*
 * Before it is loaded: the kernel takes the looks of chunks of rows from one that is there when the
 * map of chunks is made. This one has no 8 MB (Linux 5.10). Its descriptor, to be closed when all
 * is loaded, or negative errno.
 */
int unwind_objects_model(struct memtraced_bpf *skel);

/* `skel` is borrowed, loaded, with its maps' sizes set. 0 or negative errno. */
int unwind_objects_new(struct memtraced_bpf *skel, struct unwind_objects **ret_objects);
void unwind_objects_free(struct unwind_objects *objects); /* NULL is legal */
DEFINE_CLEANUP(struct unwind_objects, unwind_objects_free)

/*
 * Copies rows into the maps. 0; -ENOSPC when there is no room for them (nothing is changed but
 * perhaps some rules that are known now), other negative errno. Takes some 10 ms when more memory
 * must be added: the kernel waits for its programs.
 */
int unwind_objects_add(struct unwind_objects *objects, const struct cfi_rows *rows,
		       const struct abi_unwind_segment *segments, size_t n_segments,
		       uint32_t *ret_object);

/* Is most of the room that there can ever be taken? */
bool unwind_objects_are_many(const struct unwind_objects *objects);

/* This object is not found any more. */
void unwind_objects_retire(struct unwind_objects *objects, uint32_t object);

/* Valid until it is used again. */
const struct abi_unwind_object *unwind_objects_at(const struct unwind_objects *objects,
						  uint32_t object);

/* Where `offset` of the file is in the object's own addresses. 0, or -ENOENT: in no segment. */
int unwind_object_rel(const struct abi_unwind_object *object, uint64_t offset, uint32_t *ret_rel);

/* As of trace/unwind/range_pool.h. */
uint32_t unwind_objects_retired(const struct unwind_objects *objects);
void unwind_objects_grace(struct unwind_objects *objects);
void unwind_objects_reuse(struct unwind_objects *objects);

/* Bytes of kernel memory that rows take, and rules that are known. */
uint64_t unwind_objects_bytes(const struct unwind_objects *objects);
size_t unwind_objects_rules(const struct unwind_objects *objects);

#endif
