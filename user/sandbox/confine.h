/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes from the calling process, for good, what it does not need to parse what others wrote. For a
 * process with a single thread.
 */
#ifndef MEMTRACED_SANDBOX_CONFINE_H
#define MEMTRACED_SANDBOX_CONFINE_H

#include <stdbool.h>
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

/*
 * A seccomp filter for a process that reads what others wrote and writes files itself: it lets pass
 * all that is not named here, where confine_system_calls() refuses all that is not named there.
 * Refuses, with EPERM: executing, new processes, other processes' memory and signals, sockets and
 * code that is not there yet (both unless `network`), typing into the terminal, other identities,
 * owners and modes of files, mounts, namespaces, modules, BPF, and what else only administrators
 * do. 0 or negative errno.
 */
int confine_calls(bool network);

/*
 * Takes the file system, but for the places where outputs go (Landlock, Linux 5.13), from a process
 * that has no new privileges. What is open stays open. From now on files can be made, replaced and
 * removed in the folders of `paths` alone, and a pipe or device that has such a path can be
 * written. A path may have placeholders, as of path_expand(): then it is the folder around them.
 * `reads`: files can be read as before; else none is opened for reading, nor executed. 0;
 * -EOPNOTSUPP: the kernel has no Landlock; or negative errno.
 */
int confine_paths(char *const *paths, size_t n, bool reads);

#endif
