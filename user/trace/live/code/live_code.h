/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes map as code. Here alone the code map of an image changes, is recorded and goes
 * into the unwinder's tables.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_CODE_H
#define MEMTRACED_TRACE_LIVE_LIVE_CODE_H

#include "trace/live/live_state.h"

/* User addresses that memory can be at (Linux: mmap_min_addr, five-level tables aside). */
#define LIVE_MIN_ADDR 0x10000ULL

/* --- live_code.c ----------------------------------------------------------------------------- */

/*
 * As proc_maps_read(), but a process that has ended and is not waited for, whose list is empty, is
 * gone: -ESRCH. So is, for a user, one whose image is not the current one any more.
 */
int live_read_maps(const struct live *live, const struct live_process *process,
		   struct proc_maps *ret_maps);
/*
 * What a process has mapped now; recorded and in the tables, not probed yet. *ret_missing is set
 * when there may be an allocator that was not found.
 */
int live_add_maps(struct live *live, struct live_process *process, uint64_t time_ns,
		  bool *ret_missing);
/* How a mapping of code has become known. */
struct code_origin {
	const struct abi_ev_map *ev; /* the event that told of it; NULL: none */
	uint64_t time_ns;	     /* from when on it holds, */
	bool late;		     /* which is not known yet */
};
/*
 * One executable mapping of a process: recorded, and put into the unwinder's tables. *ret_object:
 * NULL if it is not of a file that can be read.
 */
int live_code_add(struct live *live, struct live_process *process, const struct proc_map *map,
		  const struct code_origin *origin, struct object **ret_object);
/* The i-th could not be opened before. *ret_object: NULL when that is still so. */
int live_code_reopen(struct live *live, struct live_process *process, size_t i,
		     struct object **ret_object);
/* Is all of the mapping known? */
bool live_code_covers(const struct live_process *process, const struct proc_map *map);
/* Does the image's list end here? Each look-up in a longer one would be slow. */
bool live_code_is_full(const struct live_process *process);
/* Memory without a file that grew: the parts that were known are in it. */
void live_code_absorb(struct live_process *process, const struct proc_map *map);
/*
 * Files that a reading has not found any more leave the list and the unwinder's tables; then the
 * epoch, which was `epoch` when the reading began.
 */
int live_code_drop_gone(struct live *live, struct live_process *process,
			const struct proc_maps *maps, uint32_t epoch);
/* Executable mappings in the range are gone. */
int live_code_unmap(struct live *live, struct live_process *process, uint64_t start, uint64_t end,
		    uint64_t time_ns);
/* Memory without a file that was mapped to be executed. */
int live_on_made_code(struct live *live, struct live_process *process, const struct abi_ev_map *ev);
/* A forked child has its parent's code. */
int live_code_fork(struct live *live, struct live_process *parent, struct live_process *child);

/* Closes files that no process maps any more. */
void live_close_files(struct live *live);

/*
 * --- live_changes.c: what a reading has shown is recorded, with times, when all events of before
 * it are known --------------------------------------------------------------------------------
 */

int live_emit_mapping(struct live *live, const struct live_process *process,
		      const struct proc_map *map, const struct object *object, uint64_t time_ns);
/* Is it told of code by samples and dynamic linkers, which do not say what has changed? */
bool live_watches_code(const struct live *live);
int live_note_added(struct live *live, struct live_process *process, const struct proc_map *map,
		    struct object *object, uint64_t since_ns);
/* A file that the reading has not found any more. */
int live_note_removed(struct live *live, struct live_process *process,
		      const struct code_range *range);
/* May the stack's frames be in other code than what is known to be there? */
int live_judge_stack(struct live *live, struct live_process *process, const struct abi_ev_stack *ev,
		     const uint64_t *frames, size_t n_frames, struct stack_facts *stack);
/* all_told: as code_times_came_ns(). */
int live_record_changes(struct live *live, struct live_process *process, bool all_told);
/* Of all processes: after the ring was empty, which it was after each of their readings. */
int live_record_all_changes(struct live *live);
void live_changes_done(struct live_process *process);

/* --- live_unwind.c: the unwinder's tables, where stacks are unwound by them ------------------- */

int live_unwind_new(struct live *live);
int live_unwind_process(struct live *live, struct live_process *process);
/* After an exec of which the programs have noted so many mappings. */
int live_unwind_image(struct live *live, struct live_process *process, uint32_t noted);
int live_unwind_child(struct live *live, struct live_process *parent, struct live_process *child);
void live_unwind_end(struct live_process *process);
/* A mapping of code; ev: the event that told of it, NULL: none. */
int live_unwind_map(struct live *live, struct live_process *process, const struct proc_map *map,
		    struct object *object, const struct abi_ev_map *ev);
/* The range is no code any more. */
int live_unwind_unmap(struct live *live, struct live_process *process,
		      const struct code_range *range);
/* Rows for any instruction of the file whose code is at `addr`. */
int live_unwind_fully(struct live *live, const struct live_process *process, uint64_t addr);
int live_on_code_gone(struct live *live, const struct abi_ev_map *ev);
/* Before what was held goes on, and at the end of a drain. */
int live_unwind_sync(struct live *live);
int live_unwind_drained(struct live *live);

#endif
