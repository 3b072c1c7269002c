/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel leaves on a stack that is kept for signal handlers (sigaltstack(2)) when it calls
 * one: where that stack is, and which function was interrupted.
 */
#ifndef MEMTRACED_TARGET_SIGNAL_FRAME_H
#define MEMTRACED_TARGET_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct memory;

struct signal_frame {
	uint64_t stack_start;	 /* of the handler's stack */
	uint64_t interrupted_sp; /* on another one */
};

/* Is `sp` on a stack for signal handlers? On x86-64 and arm64. */
bool signal_frame_find(const struct memory *memory, uint64_t sp, struct signal_frame *ret_frame);

#endif
