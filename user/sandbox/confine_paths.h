/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes the file system from the calling process, for good, but for the places where its outputs go
 * (Landlock, Linux 5.13). What is open stays open. For a process with a single thread that has no
 * new privileges.
 */
#ifndef MEMTRACED_SANDBOX_CONFINE_PATHS_H
#define MEMTRACED_SANDBOX_CONFINE_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * From now on files can be made, replaced and removed in the folders of `paths` alone, and a pipe
 * or device that has such a path can be written. A path may have placeholders, as of path_expand():
 * then it is the folder around them. `reads`: files can be read as before; else none is opened for
 * reading, nor executed. 0; -EOPNOTSUPP: the kernel has no Landlock; or negative errno.
 */
int confine_paths(char *const *paths, size_t n, bool reads);

#endif
