/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that runs functions for another one, which waits meanwhile. target/hold makes its ptrace
 * calls there: tracees belong to a thread, so that each hold sees its own stops only, and that its
 * thread's end detaches from all of them, in whatever state they are.
 */
#ifndef MEMTRACED_TARGET_HOLD_TRACER_THREAD_H
#define MEMTRACED_TARGET_HOLD_TRACER_THREAD_H

#include "base/cleanup.h"

struct tracer_thread;

/* The thread blocks all signals. 0 or negative errno. */
int tracer_thread_new(struct tracer_thread **ret_thread);

/*
 * Runs fn(arg) on the thread and returns what it returned. One caller at a time; from the thread
 * itself, fn is simply called.
 */
int tracer_thread_call(struct tracer_thread *thread, int (*fn)(void *arg), void *arg);

/* Returns once the kernel has detached the thread's tracees. NULL is legal. */
void tracer_thread_free(struct tracer_thread *thread);
DEFINE_CLEANUP(struct tracer_thread, tracer_thread_free)

#endif
