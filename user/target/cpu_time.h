/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time of processes. Any thread.
 */
#ifndef MEMTRACED_TARGET_CPU_TIME_H
#define MEMTRACED_TARGET_CPU_TIME_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Of all threads of the process, to the nanosecond, and of the children that it has waited for and
 * theirs, to the clock tick. 0, or -ESRCH: it has ended and is waited for.
 */
int cpu_time_of(pid_t pid, uint64_t *ret_ns);

#endif
