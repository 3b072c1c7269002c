/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files that a traced program may have named: the path never leaves a given root, nothing
 * but a regular file is opened (opening a device or a FIFO could act or block), and no folder is
 * searched whose file system another user serves, as looking up a name there can wait for ever.
 */
#ifndef MEMTRACED_TARGET_ROOT_OPEN_H
#define MEMTRACED_TARGET_ROOT_OPEN_H

#include "base/file_system.h"

#include <sys/types.h>

struct wire_reader;

/*
 * The place (O_PATH) of `path` as if `root_fd` (an O_PATH descriptor of a folder) were "/":
 * symbolic links and ".." are followed within it. pid: whose root it is, 0: ours. A descriptor or
 * negative errno; -EREMOTE: it leads through a file system that is not to be touched; -EXDEV:
 * through one above `most`.
 */
int root_find(int root_fd, pid_t pid, const char *path, enum file_system most);

/* Opens it for reading: also as reopen_for_reading(). A helper does what may have to wait. */
int root_open(int root_fd, pid_t pid, const char *path);

/* In the helper, by the request of root_open(). */
int root_open_waiting(int root_fd, struct wire_reader *request);

#endif
