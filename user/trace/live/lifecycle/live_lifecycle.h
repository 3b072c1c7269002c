/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a process's birth to the end of its image and of all that is known of it: the only caller of
 * several of probes, stacks, regions and code at once.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_LIFECYCLE_H
#define MEMTRACED_TRACE_LIVE_LIVE_LIFECYCLE_H

#include "bpf/abi_death.h"
#include "trace/live/live_state.h"

/* --- live_follow.c: birth, exec and death ----------------------------------------------------- */

int live_on_process_event(struct live *live, const struct abi_ev_process *ev);
/* Everything that is mapped now, as of time_ns; in_time: the process has run none of it yet. */
int live_map_process(struct live *live, struct live_process *process, uint64_t time_ns,
		     bool in_time);
/*
 * Reads the names of all processes that run, and the most that they had resident: no event tells of
 * either.
 */
int live_read_running(struct live *live);
/* Its end: what is left of its stacks goes before. */
int live_end_image(struct live *live, struct live_process *process, enum record_end how, int value,
		   uint64_t time_ns);
/*
 * live_end_unseen: the process's image has ended, which nothing told of; flags: of its ABI_EV_EXIT.
 * live_end_hidden: so have those that may not be shown any more. live_end_refused: those whose
 * event was refused by a full ring; n_refused: how many events it has refused so far. 0 or negative
 * errno.
 */
int live_end_unseen(struct live *live, struct live_process *process, uint32_t flags);
int live_end_hidden(struct live *live);
int live_end_refused(struct live *live, uint64_t n_refused);

/* --- live_existing.c ------------------------------------------------------------------------- */

/* A forked child has what its parent had from before. */
void live_existing_fork(const struct live_process *parent, struct live_process *child);

/* --- live_death.c: who kills a process; kept until its end, and then handed over -------------- */

int live_on_death(struct live *live, const struct abi_ev_death *ev);
/* The process was killed by this signal. */
int live_emit_death(struct live *live, const struct live_process *process, int signal);
/*
 * Did the OOM killer choose it? Into the record, with how it ended. What is not known so is not
 * guessed. 0, or as of programs_losses().
 */
int live_death_by_oom(struct live *live, const struct live_process *process,
		      struct record_process_end *end);
void live_death_done(struct live_process *process);

/* --- live_reclaim.c: what ended images held is given back, with their slots ------------------- */

/* NULL is legal. */
void live_process_free(struct live_process *process);
/* The process was never active: its slot can be used again. */
int live_process_discard(struct live *live, struct live_process *process);
/* After a cut. */
int live_reclaim(struct live *live);
/* Between cuts: where none is asked for, and slots that no program can be in any more. */
int live_reuse(struct live *live);

#endif
