/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where processes have code, in the unwinder's maps. BPF programs append to a space what they see
 * mapped and unmapped; the list here, made from the same events, takes its place at a sync. Forked
 * children share their parent's sorted mappings until either changes. Not thread-safe.
 */
#ifndef MEMTRACED_TRACE_UNWIND_UNWIND_SPACES_H
#define MEMTRACED_TRACE_UNWIND_UNWIND_SPACES_H

#include "base/cleanup.h"
#include "bpf/abi_unwind.h"

#include <stdbool.h>
#include <stdint.h>

struct memtraced_bpf;
struct unwind_space;
struct unwind_spaces;

/* Entries of the map `unwind_mappings`. */
#define UNWIND_MAPPINGS (1U << 16)

/* `skel` is borrowed, loaded, with its maps' sizes set. 0 or negative errno. */
int unwind_spaces_new(struct memtraced_bpf *skel, struct unwind_spaces **ret_spaces);
/* Spaces that are left go with it. NULL is legal. */
void unwind_spaces_free(struct unwind_spaces *spaces);
DEFINE_CLEANUP(struct unwind_spaces, unwind_spaces_free)

/* The space of a slot, made by the programs or by this. 0 or negative errno. */
int unwind_space_new(struct unwind_spaces *spaces, uint32_t slot, struct unwind_space **ret_space);
/*
 * The programs have appended the first mappings of a new image. They are put in here as all that is
 * mapped is, without a number, before the next sync.
 */
void unwind_space_begin(struct unwind_space *space, uint32_t noted);
/* That of a forked child: what the parent had when it forked. 0 or negative errno. */
int unwind_space_fork(struct unwind_space *parent, uint32_t slot, struct unwind_space **ret_space);
/* The process has ended. NULL is legal. */
void unwind_space_free(struct unwind_space *space);

/*
 * A mapping appeared, or (object 0) is gone; `number`: the programs have appended it under that, 0:
 * they have not. 0 or -ENOMEM.
 */
int unwind_space_put(struct unwind_space *space, const struct abi_unwind_mapping *map,
		     uint32_t number);

/* Everywhere `now` stands for `old` (0: nothing does). 0 or -ENOMEM. */
int unwind_spaces_replace(struct unwind_spaces *spaces, uint32_t old, uint32_t now);

/* Sets used[object] of all that stand in spaces. */
void unwind_spaces_mark_used(const struct unwind_spaces *spaces, bool *used);

/*
 * Writes what has changed. 0 or negative errno; where there is no room the old stays, and is
 * counted in unwind_spaces_refused().
 */
int unwind_spaces_sync(struct unwind_spaces *spaces);
uint64_t unwind_spaces_refused(const struct unwind_spaces *spaces);

/* Kernel memory that spaces take which are there. */
uint64_t unwind_spaces_bytes(const struct unwind_spaces *spaces);

/* As of trace/unwind/range_pool.h. */
uint32_t unwind_spaces_retired(const struct unwind_spaces *spaces);
void unwind_spaces_grace(struct unwind_spaces *spaces);
void unwind_spaces_reuse(struct unwind_spaces *spaces);

#endif
