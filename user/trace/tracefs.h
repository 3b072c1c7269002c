/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracefs, also where nobody has mounted it: then through a mount of our own that is attached to
 * no folder and vanishes with its descriptor.
 */
#ifndef MEMTRACED_TRACE_TRACEFS_H
#define MEMTRACED_TRACE_TRACEFS_H

#include <stdint.h>

/* A descriptor of the root of tracefs, or negative errno. The caller closes it. */
int tracefs_open(void);

/* The id of a tracepoint ("syscalls", "sys_enter_mmap"). 0 or negative errno; -ENOENT: none. */
int tracefs_event_id(int tracefs_fd, const char *category, const char *name, uint32_t *ret_id);

#endif
