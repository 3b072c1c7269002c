/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs and user space both write: struct abi_proc of each slot, struct abi_control and
 * struct abi_room. All that trace/live writes there is written here, by one thread; programs read
 * and write it at the same time, so that states change by atomics. Slots are of a process that is
 * known, as their index is not checked.
 */
#ifndef MEMTRACED_TRACE_LIVE_SHARED_STATE_H
#define MEMTRACED_TRACE_LIVE_SHARED_STATE_H

#include "trace/bpf/programs.h"
#include "trace/live/slots/slot.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* To be read; what programs change meanwhile, by __atomic_load_n. */
static inline const struct abi_proc *shared_proc(const struct programs *programs, slot_t slot)
{
	return &programs->procs[slot.n];
}

/* --- states of a slot ------------------------------------------------------------------------ */

/* A free slot, with a number of its own for its image; -ENOSPC. */
int shared_take_slot(struct programs *programs, slot_t *ret_slot);
/* A process in a slot that no program knows yet: it counts when it is activated. */
void shared_begin(struct programs *programs, slot_t slot, pid_t pid);
/* It is free, and its next image has this number. */
void shared_clear(struct programs *programs, slot_t slot, image_t image);
/* It is free and stays so: its image is ABI_NO_SLOT. */
void shared_vacate(struct programs *programs, slot_t slot);
/* It is counted from now on by the links of `owner`, unless it has ended meanwhile. */
void shared_activate(struct programs *programs, slot_t slot, uint32_t owner);
void shared_set_owner(struct programs *programs, slot_t slot, uint32_t owner);
/* It is not counted until it is activated again. */
void shared_suspend(struct programs *programs, slot_t slot);
/* It is only followed, as what it forks is. */
void shared_set_unwanted(struct programs *programs, slot_t slot);
void shared_end(struct programs *programs, slot_t slot);
/* An image ended while its process goes on: programs that remember slots look them up again. */
void shared_count_end(struct programs *programs);

/* --- of its image ---------------------------------------------------------------------------- */

void shared_count_losses(struct programs *programs, slot_t slot, uint64_t n);
/* From now on it has inherited nothing. The parent keeps its count of those who share with it. */
void shared_forget_parent(struct programs *programs, slot_t slot);
/* It was forked by the process there before both were traced. */
void shared_set_parent(struct programs *programs, slot_t slot, slot_t parent);
/* It was forked in that era of its parent's, as books have it. */
void shared_set_parent_era(struct programs *programs, slot_t slot, uint32_t era);
/* One less shares blocks with the slot's image. */
void shared_drop_sharer(struct programs *programs, slot_t slot);
/* Blocks that it had before it was counted: its peak is that of all from here on. */
void shared_add_older(struct programs *programs, slot_t slot, int64_t bytes);
/* Of --mappings: regions have no stacks any more. */
void shared_set_stacks_full(struct programs *programs, slot_t slot);

/* The peak as it was at the latest cut, whose epoch is `cut`. */
struct peak_at_cut {
	int64_t bytes;
	uint32_t epoch;
};
struct peak_at_cut shared_peak_at_cut(const struct abi_proc *proc, uint32_t cut);

/* What a process counts by itself (books/live_books.h), at the cut of this epoch. */
struct shared_totals {
	int64_t live_bytes, peak_bytes;
	uint32_t peak_epoch;
	uint64_t race_bytes, failed, unknown_frees;
};
void shared_set_totals(struct programs *programs, slot_t slot, uint32_t cut,
		       const struct shared_totals *totals);

/* The epoch that stacks are hashed with (abi_proc.code_epoch). */
uint32_t shared_code_epoch(const struct programs *programs, slot_t slot);
/* A number that no other epoch of the image has. */
uint32_t shared_new_code_epoch(struct programs *programs, slot_t slot);
/* It stays where a program has begun another one since `from` was read. */
void shared_replace_code_epoch(struct programs *programs, slot_t slot, uint32_t from, uint32_t to);

/* --- what it takes of maps that all share (bpf/room.bpf.h) ------------------------------------ */

void shared_add_room(const struct programs *programs, slot_t slot, uint32_t spilled,
		     uint32_t sites);
/* Its sites and blocks are gone from the maps. */
void shared_free_room(const struct programs *programs, slot_t slot);
/* So are its stacks. */
void shared_free_stack_room(const struct programs *programs, slot_t slot);

/* --- of all ---------------------------------------------------------------------------------- */

/* Do programs stop a thread whose code is new? Before anything is attached. */
void shared_set_hold(struct programs *programs, bool hold);
/* Are new processes counted by links that all share? */
void shared_set_links(struct programs *programs, bool shared);
/* Processes that are not traced, nor are their children; 0: none. */
void shared_leave_out(struct programs *programs, pid_t keeper, pid_t opener);
/* The clock of ages; it does not go back. */
void shared_set_tick(struct programs *programs, uint32_t tick);
/* The next tick, from now on. */
uint32_t shared_next_tick(struct programs *programs);
/* A new epoch of cuts. */
void shared_raise_cut_epoch(struct programs *programs);

#endif
