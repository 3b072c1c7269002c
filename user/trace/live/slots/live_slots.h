/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slots, and what is known of the process image in each, from birth until it is freed. */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_SLOTS_H
#define MEMTRACED_TRACE_LIVE_LIVE_SLOTS_H

#include "trace/live/live_state.h"

/* What is known of an image when it begins. */
struct image_origin {
	const struct live_process *replaced; /* by it, which goes on as another one; NULL: none */
	bool root, placeholder, older_blocks, unwanted, exe_known, alone; /* struct live_process */
	uint64_t execed_ns, forked_ns;
	const char *comm; /* 16 bytes; NULL: not known yet */
};

/* Hands a record over: live_begin_emitting() says where to. */
int live_emit(struct live *live, const struct record *record);

/* After the programs are loaded. */
void live_slots_begin(struct live *live);
/* When all processes are freed. */
void live_slots_done(struct live *live);

/* Of the process that an event is about. */
static inline slot_t event_slot(const struct abi_event *head)
{
	return (slot_t){ head->slot };
}

/* NULL: the slot is free. */
struct live_process *live_process_at(const struct live *live, slot_t slot);

/*
 * The image that the process has now, if only the depth has changed since `process`: programs that
 * had read its slot before that tell of it by the old one. NULL for NULL.
 */
struct live_process *live_process_latest(const struct live *live, struct live_process *process);

int live_process_new(struct live *live, slot_t slot, pid_t pid, const struct image_origin *origin,
		     struct live_process **ret);
/* In a slot of its own, which no program knows by the pid yet. -ENOSPC: there is none. */
int live_process_begin(struct live *live, pid_t pid, const struct image_origin *origin,
		       struct live_process **ret);

void live_process_set_comm(struct live_process *process, const char *comm);
/* Before anything is counted of it, the programs know it by its depth. */
void live_process_set_depth(struct live *live, struct live_process *process,
			    enum record_depth depth);
/* It is only followed from now on. */
void live_process_set_unwanted(struct live *live, struct live_process *process);
/* All that it holds is counted, although it ran before. */
void live_process_set_complete(struct live_process *process);
void live_process_end(struct live_process *process, uint64_t end_ns);
/* It has ended, and its last values were handed over. */
void live_process_settle(struct live_process *process);

/*
 * Who holds pointers to processes pins them: in between no process is freed, and so neither
 * live_maintain() nor a cut is called, which is asserted. Pins nest.
 */
void live_pin(struct live *live);
void live_unpin(struct live *live);

/* The slot was never active and can be used again; the process in it is the caller's. */
int live_slot_return(struct live *live, slot_t slot);
/* What was in it is over and forgotten; the process is the caller's to free. */
int live_slot_recycle(struct live *live, slot_t slot);
/* Slots that no program can be in any more can be taken again. */
int live_slots_release(struct live *live);

/* process: whose it is beside the run's; NULL is legal. */
void live_count_loss(struct live *live, const struct live_process *process, enum user_loss cause);
/* The same of many. */
void live_count_losses(struct live *live, const struct live_process *process, enum user_loss cause,
		       uint64_t n);
/* One that is known as a sum. */
void live_set_loss(struct live *live, enum user_loss cause, uint64_t n);
/* The same of what each cut has anew: the most is kept. */
void live_raise_loss(struct live *live, enum user_loss cause, uint64_t n);

/* --- slots/live_epoch.c ---------------------------------------------------------------------- */

/* When each process had its peak, late by at most a tick or a sample. */
void live_note_peaks(struct live *live);
void live_note_peak(const struct live *live, struct live_process *process);
/* The peak so far was at a time that is not known. */
void live_forget_peak(const struct live *live, struct live_process *process);
/* The clock of the programs: live_tick(), live_mark(). */
void live_tick_programs(struct live *live);
uint32_t live_tick_of(const struct live *live, uint64_t time_ns);
/* A tick of that clock by CLOCK_MONOTONIC, in ABI_TICK_NS. */
uint64_t live_clock_tick(const struct live *live, uint32_t tick);
/* That of the lifetimes of a process's blocks, its unit, and how exact it is. */
uint64_t live_lifetime_clock(const struct live *live, const struct live_process *process,
			     uint64_t time_ns);
uint64_t live_lifetime_unit_ns(const struct live *live, const struct live_process *process);
uint64_t live_lifetime_resolution_ns(const struct live *live, const struct live_process *process);
void live_mark_programs(struct live *live);
/* Begins a new epoch of cuts. */
void live_raise_epoch(struct live *live);
/*
 * Waits for programs that may have read the epoch before, if any process still runs; false: they
 * could not be waited for, only for a while.
 */
bool live_await_programs(struct live *live);

#endif
