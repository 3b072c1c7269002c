/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files that a traced program may have named: the path never leaves a given root, nothing
 * but a regular file is opened (opening a device or a FIFO could act or block), and no folder is
 * searched whose file system another user serves, as looking up a name there can wait for ever.
 */
#ifndef MEMTRACED_TARGET_ROOT_OPEN_H
#define MEMTRACED_TARGET_ROOT_OPEN_H

#include <sys/types.h>

/*
 * The place (O_PATH) of `path` as if `root_fd` (an O_PATH descriptor of a folder) were "/": symbolic
 * links and ".." are followed within it. pid: whose root it is, 0: ours. A descriptor or negative
 * errno; -EREMOTE: it leads through a file system that is not to be touched.
 */
int root_find(int root_fd, pid_t pid, const char *path);

/* Opens it for reading: also as reopen_for_reading(). */
int root_open(int root_fd, pid_t pid, const char *path);

#endif
