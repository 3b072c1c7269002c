/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a stack is captured: what goes to user space, and the state of the walk that fills it.
 */
#ifndef MEMTRACED_STACK_SCRATCH_BPF_H
#define MEMTRACED_STACK_SCRATCH_BPF_H

#include "abi.h"

/* Words of stack memory that are read at once. */
#define UNWIND_WINDOW 128

struct unwind_walk {
	/* The frame that is next: its code address and registers. */
	__u64 pc, sp, bp;
	__u64 exact; /* pc is the next instruction, no return address */
	__u64 hash;  /* of the frames so far */
	__u64 frames;
	__u64 kept;	/* frames to keep */
	__u64 seed;	/* stack_seed() */
	__u64 instance; /* return instances up to here are below the frame; 0: none was looked at */
	__u64 window_at;  /* the address of window[0] */
	__u64 window_len; /* bytes */
	__u32 slot;
	__u8 by_fp;  /* the frame was found by its callee's frame pointer */
	__u8 any_fp; /* one was */
	__u8 cut;    /* enum abi_stack_cut */
	__u8 pad;
	__u64 window[UNWIND_WINDOW];
};

struct stack_scratch {
	__u32 busy;
	__u32 pad;
	struct abi_ev_stack ev;
	struct unwind_walk walk;
};

#endif
