/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening a file that a stranger has named: first only its place (O_PATH), which no rename can
 * exchange, then, when it has been looked at, the file. What a place stands for may be a device or
 * a FIFO, which would know that it was opened, and may act or block. Nothing here waits for another
 * process: neither for a lease's holder (fcntl(2), F_SETLEASE) nor for who serves a file system.
 * Any thread.
 */
#ifndef MEMTRACED_BASE_REOPEN_H
#define MEMTRACED_BASE_REOPEN_H

#include "base/file_system.h"

#include <sys/types.h>

/*
 * Opens for reading the regular file that an O_PATH descriptor stands for. pid: as of
 * file_system_of_fd(). most: what of file systems the caller may wait for, FILE_SYSTEM_LOCAL but in
 * a process of target/file_helper.h. A descriptor or negative errno; -EINVAL: it is no regular
 * file; -EBUSY: another process holds a lease, which ends after some time; -EREMOTE: its file
 * system is not to be touched; -EXDEV: it is above `most`.
 */
int reopen_for_reading(int path_fd, pid_t pid, enum file_system most);

/* The same where it is known already that it is a regular file of FILE_SYSTEM_LOCAL. */
int open_place(int path_fd);

/* The same for a path, which must not lead through folders of others' file systems. */
int open_regular(const char *path);

/*
 * A descriptor for what "/proc/self/fd/N" stands for, which is open already, without opening it
 * once more: that could have to wait for a lease. Other paths: as open_regular().
 */
int reopen_own(const char *path);

#endif
