/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which parts of their stacks the threads of a stopped process use: those from the stack pointer
 * on, and behind a signal handler's, on a stack of its own (sigaltstack(2)), those of the function
 * that it interrupts. One thread.
 */
#ifndef MEMTRACED_ANALYZE_STACK_USES_H
#define MEMTRACED_ANALYZE_STACK_USES_H

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct exit_frame;
struct memory;
struct stopped_thread;

struct stack_use {
	uint64_t sp;
	uint64_t begin; /* of what is in use: with the red zone, or without exit handlers' frames */
	uint64_t start; /* of the stack itself; `begin` where it is not known */
};

struct stack_uses {
	VEC(struct stack_use) list;
};

/* `exit_frame` may be NULL. 0 or -ENOMEM. */
int stack_uses_init(struct stack_uses *uses, const struct memory *memory,
		    const struct stopped_thread *threads, size_t n_threads,
		    const struct exit_frame *exit_frame);
void stack_uses_done(struct stack_uses *uses);

#endif
