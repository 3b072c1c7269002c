/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes from the calling process, for good, what it does not need to parse what others wrote. For a
 * process with a single thread.
 */
#ifndef MEMTRACED_SANDBOX_CONFINE_H
#define MEMTRACED_SANDBOX_CONFINE_H

#include <stddef.h>

/* No capabilities, and none by a later exec. 0 or negative errno. */
int confine_capabilities(void);
/* The same but for these (capabilities(7)), which the process must have. */
int confine_capabilities_to(const int *kept, size_t n);

/*
 * Limits (memory, descriptors, no files, no core), and a seccomp filter that lets pass what parsing
 * open files and talking on open sockets takes; all else kills, but for some calls by which
 * libraries look for files, which fail. 0 or negative errno.
 */
int confine_system_calls(void);

#endif
