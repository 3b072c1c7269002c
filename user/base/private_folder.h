/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folders of what is kept from run to run, which only the user that runs us may write to: what
 * stands there is believed as far as its reader checks it, and no other user has written it. Any
 * thread; several processes may use one folder.
 */
#ifndef MEMTRACED_BASE_PRIVATE_FOLDER_H
#define MEMTRACED_BASE_PRIVATE_FOLDER_H

#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * /var/cache/memtraced/NAME of root, else memtraced/NAME in $XDG_CACHE_HOME or ~/.cache. 0, or
 * -ENOENT: there is no such place.
 */
int private_folder_path(const char *name, char path[PATH_MAX]);

/*
 * The folder, made where it is missing with those above it. Its descriptor, or -EPERM: it is not
 * ours alone; -ENOENT, -ENOTDIR, -ELOOP (a link), -EROFS, ...: there is no such place.
 */
int private_folder_open(const char *path);

/* A plain file of it, to be read. Its descriptor, -EPERM: it is none, or not ours alone; -errno. */
int private_folder_open_file(int dir_fd, const char *name, struct stat *ret_st);

/* Makes a file anew, whole or not at all. 0 or negative errno. */
int private_folder_put(int dir_fd, const char *name, const void *bytes, size_t len);

#endif
