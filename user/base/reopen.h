/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening a file that a stranger has named: first only its place (O_PATH), which no rename can
 * exchange, then, when it has been looked at, the file. What a place stands for may be a device or
 * a FIFO, which would know that it was opened, and may act or block. Any thread.
 */
#ifndef MEMTRACED_BASE_REOPEN_H
#define MEMTRACED_BASE_REOPEN_H

/*
 * Opens for reading what an O_PATH descriptor stands for. A descriptor or negative errno; -EBUSY:
 * another process holds a lease on the file (fcntl(2), F_SETLEASE), which ends after some time.
 */
int reopen_for_reading(int path_fd);

/* Opens a file for reading. A descriptor or negative errno; -EINVAL: it is no regular file. */
int open_regular(const char *path);

#endif
