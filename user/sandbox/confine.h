/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes from the calling process, for good, what it does not need to parse what others wrote. For a
 * process with a single thread.
 */
#ifndef MEMTRACED_SANDBOX_CONFINE_H
#define MEMTRACED_SANDBOX_CONFINE_H

/* No capabilities, and none by a later exec. 0 or negative errno. */
int confine_capabilities(void);

/*
 * Limits (memory, descriptors, no files, no core), and a seccomp filter that lets pass what parsing
 * open files and talking on open sockets takes; all else kills, but for some calls by which
 * libraries look for files, which fail. 0 or negative errno.
 */
int confine_system_calls(void);

#endif
