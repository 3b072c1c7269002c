/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that come: those that wait for code to be read, which frames are theirs, their checks. */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_STACKS_H
#define MEMTRACED_TRACE_LIVE_LIVE_STACKS_H

#include "bpf/abi_stack_copy.h"
#include "trace/live/live_state.h"

/* --- live_waiting.c: code that no event announces, and stacks that wait for it ---------------- */

int live_on_stack(struct live *live, const struct abi_ev_stack *ev);
/* Libraries came or went: what is mapped is read again, as soon as its time has come. */
int live_on_code_changed(struct live *live, const struct abi_ev_code_changed *ev);
/* A change is taken to have come with the last reading: nothing told of it. */
int live_on_code_unwatched(struct live *live, struct live_process *process);
/* Stacks that wait are handed over: before what names them, and before the process's end. */
int live_release_stacks(struct live *live, struct live_process *process);
/* The same of all processes; unless at_once those only whose time it is. */
int live_release_all_stacks(struct live *live, bool at_once);
void live_waiting_done(struct live_process *process);

/* --- live_stacks.c --------------------------------------------------------------------------- */

struct live_frames {
	uint64_t frame[ABI_MAX_FRAMES];
	uint64_t exact[ABI_EXACT_WORDS]; /* struct abi_ev_stack */
	size_t n;
	uint8_t cut; /* enum stack_cut or abi_stack_cut */
};

int live_take_stack(struct live *live, const struct abi_ev_stack *ev);
/* The frames that are the stack's; the process may be NULL where they are the kernel's. */
void live_stack_frames(const struct live_process *process, const struct abi_ev_stack *ev,
		       struct live_frames *ret);
/* Adds events with a stack to a sum. */
void live_count_stack(const struct live *live, uint64_t id, uint64_t events,
		      struct cut_coverage *coverage);
/* The name of enum stack_cut or abi_stack_cut. */
const char *live_cut_name(size_t cut);
/* Of an image that is over: its stacks are deleted, unless something may name them. */
void live_forget_stacks(struct live *live, struct live_process *process);
void live_stacks_done(struct live_process *process);

/* --- live_check.c: --check-stacks ------------------------------------------------------------- */

int live_on_stack_copy(struct live *live, const struct abi_ev_stack_copy *copy);
/* Within a cut. */
int live_emit_check(struct live *live);

#endif
