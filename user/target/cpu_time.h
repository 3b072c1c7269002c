/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU time that was used: by a process, or by the host. Sums since the beginning of each.
 */
#ifndef MEMTRACED_TARGET_CPU_TIME_H
#define MEMTRACED_TARGET_CPU_TIME_H

#include <stdint.h>
#include <sys/types.h>

/*
 * The CPU time of all threads of the process, to the nanosecond, and of the children that it has
 * waited for and theirs, to the clock tick. 0, or -ESRCH: it has ended and is waited for.
 */
int cpu_time_of(pid_t pid, uint64_t *ret_ns);

/* Of all CPUs, by clock ticks: user and system time and interrupts. 0 or -EBADMSG. */
int cpu_time_parse_host(const char *text, uint64_t *ret_ns);
int cpu_time_of_host(uint64_t *ret_ns); /* the same of /proc/stat; or negative errno */

#endif
