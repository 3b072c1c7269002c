/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes in time namespaces (time_namespaces(7)), whose CLOCK_MONOTONIC is another one. */
#ifndef MEMTRACED_TARGET_CLOCK_OFFSET_H
#define MEMTRACED_TARGET_CLOCK_OFFSET_H

#include <stdint.h>
#include <sys/types.h>

/* Of the text of /proc/PID/timens_offsets: ns more than the host's. 0 or -EBADMSG. */
int clock_offset_parse(const char *text, int64_t *ret_ns);

/*
 * The process's CLOCK_MONOTONIC less ours; 0 where the kernel has no such namespaces, or it has
 * ended. 0, or negative errno: not known now, -ETIMEDOUT when it let us wait.
 */
int clock_offset_of(pid_t pid, int64_t *ret_ns);

#endif
