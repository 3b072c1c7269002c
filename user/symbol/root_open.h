/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files that a traced program may have named: the path never leaves a given root, and
 * nothing but a regular file is opened (opening a device or a FIFO could act or block).
 */
#ifndef MEMTRACED_SYMBOL_ROOT_OPEN_H
#define MEMTRACED_SYMBOL_ROOT_OPEN_H

/*
 * Opens `path` for reading as if `root_fd` (an O_PATH descriptor of a folder) were "/": symbolic
 * links and ".." are followed within it. A file descriptor or negative errno, -EINVAL when it is no
 * regular file. Where the kernel has or allows no openat2, links are not followed: -ELOOP.
 */
int root_open(int root_fd, const char *path);

/* What root_open falls back to. */
int root_open_without_links(int root_fd, const char *path);

#endif
