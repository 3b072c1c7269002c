/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second holder of links beside their descriptors: a BPF file system that is mounted nowhere and
 * vanishes with its descriptor, by any death of ours. The kernel then takes the links apart in a
 * thread of its own.
 *
 * The last close of a link's descriptor would do that in the closing thread, with two faults (seen
 * on Linux 6.18): it takes 40 ms a link, one after the other, and a SIGKILL in the middle of it
 * makes the kernel give up and leave breakpoints in running programs ("failed to unregister,
 * leaking uprobe").
 */
#ifndef MEMTRACED_TRACE_BPF_LINK_HOME_H
#define MEMTRACED_TRACE_BPF_LINK_HOME_H

#include <stddef.h>

/* A descriptor, which the caller closes after those of the links; or negative errno. */
int link_home_open(void);

/*
 * Keeps a link, until the home is gone or link_home_close. Where that cannot be (home_fd < 0, or no
 * link but a perf event before Linux 5.15), it goes with its descriptor, only more slowly.
 */
void link_home_keep(int home_fd, int link_fd);

/* Closes the descriptor of a link that need not have been kept: soon nothing is attached by it. */
void link_home_close(int home_fd, int link_fd);

/*
 * The same of many, of which none has breakpoints any more on return. The closing thread takes them
 * apart, with the faults above: for the rare case that a program must not run before.
 */
void link_home_close_now(int home_fd, const int *link_fds, size_t n);

#endif
