/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory a process has resident, by /proc/PID/statm: one short read, so it can be asked
 * for often. The kernel's counts are those of its threads summed up lazily (proc(5)): off by up to
 * 64 pages a thread.
 */
#ifndef MEMTRACED_TARGET_STATM_H
#define MEMTRACED_TARGET_STATM_H

#include <stdint.h>
#include <sys/types.h>

/* 0, or negative errno: -ESRCH or -ENOENT when it has ended. */
int statm_rss(pid_t pid, uint64_t *ret_bytes);

#endif
