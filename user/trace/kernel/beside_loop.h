/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls in which the kernel stays for milliseconds, in a process whose first thread runs a
 * loop with a deadline (loop_raise_priority()). Where the kernel is not preempted (preempt=none)
 * nothing else runs on that CPU meanwhile, and a thread that has been woken for it is not moved to
 * another one. So the calling thread leaves the loop's CPU before.
 */
#ifndef MEMTRACED_TRACE_KERNEL_BESIDE_LOOP_H
#define MEMTRACED_TRACE_KERNEL_BESIDE_LOOP_H

#include "base/cleanup.h"

#include <sched.h>
#include <stdbool.h>

struct beside_loop {
	bool has_moved;
	cpu_set_t before;
};

/*
 * Holds for the calling thread, and for those that it starts meanwhile. Nothing is changed where no
 * loop has a deadline, or the thread has no other CPU.
 */
struct beside_loop beside_loop_begin(void);
void beside_loop_end(struct beside_loop *beside);

/* Until the end of the block. */
#define _beside_loop_                                                                              \
	_cleanup_(beside_loop_end) __attribute__((unused)) struct beside_loop beside =             \
		beside_loop_begin()

#endif
