/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracefs, also where it is not mounted: then through a mount of our own that is attached to
 * no folder and vanishes with its descriptor.
 */
#ifndef MEMTRACED_TRACE_KERNEL_TRACEFS_H
#define MEMTRACED_TRACE_KERNEL_TRACEFS_H

#include "base/strbuf.h"
#include "trace/kernel/tracepoint_format.h"

#include <stdint.h>

/* A descriptor of the root of tracefs, or negative errno. The caller closes it. */
int tracefs_open(void);

/* The id of a tracepoint ("syscalls", "sys_enter_mmap"). 0 or negative errno; -ENOENT: none. */
int tracefs_event_id(int tracefs_fd, const char *category, const char *name, uint32_t *ret_id);

/*
 * Where the fields of a tracepoint are; the caller's, for tp_format_done. 0; -ENOENT: no such
 * tracepoint; -EBADMSG: it is not understood; or another negative errno.
 */
int tracefs_read_format(int tracefs_fd, const char *category, const char *name,
			struct tp_format *ret_format);

/*
 * For "did you mean": adds up to three names near to `name` ("read, readv"), the nearest first; or
 * nothing. Those of system calls, where `name` has sys_enter_ or sys_exit_ before it, are without.
 * With category NULL all are searched and the names are "CATEGORY:EVENT". Returns 1 when there is
 * no such category, the names then being those of near categories; else 0, or negative errno.
 */
int tracefs_near_events(int tracefs_fd, const char *category, const char *name,
			struct strbuf *ret_names);

#endif
