/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How target/hold begins to hold what it was not born to: the calling thread becomes the tracer
 * (ptrace(2), PTRACE_SEIZE), and the table is told.
 */
#ifndef MEMTRACED_TARGET_HOLD_SEIZE_H
#define MEMTRACED_TARGET_HOLD_SEIZE_H

#include "target/hold_table.h"

/* A child of one thread that waits to be let go. `options`: PTRACE_O_*. 0 or negative errno. */
int hold_seize_waiting(struct hold_table *table, pid_t pid, long options);

/*
 * All threads of a process that runs. 0; -ESRCH: it has ended; -EBUSY: it has another tracer; or
 * another negative errno: what was seized by then is going to stop, and is to be let go (unwanted).
 */
int hold_seize_threads(struct hold_table *table, pid_t pid, long options);

#endif
