/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files that a traced program may have named or mapped: the path never leaves a given
 * root, nothing but a regular file is opened (opening a device or a FIFO could act or block), and
 * no folder is searched whose file system another user serves, as looking up a name there can wait
 * for ever.
 */
#ifndef MEMTRACED_TARGET_FILE_OPEN_H
#define MEMTRACED_TARGET_FILE_OPEN_H

#include "base/codec.h"
#include "base/file_system.h"
#include "target/proc_maps.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * The user who is shown what a file holds, where that is not root: it may be read by its mode and
 * that of each folder on the way. Further groups and ACLs are not considered.
 */
struct file_reader {
	bool limited; /* else all are read */
	uid_t uid;
	gid_t gid;
};

/*
 * The place (O_PATH) of `path` as if `root_fd` (an O_PATH descriptor of a folder) were "/":
 * symbolic links and ".." are followed within it. pid: whose root it is, 0: ours. A descriptor or
 * negative errno; -EREMOTE: it leads through a file system that is not to be touched; -EXDEV:
 * through one above `most`.
 */
int root_find(int root_fd, pid_t pid, const char *path, enum file_system most);

/*
 * Opens it for reading: also as reopen_for_reading(); -EACCES: the reader may not. A helper does
 * what may have to wait.
 */
int root_open(int root_fd, pid_t pid, const char *path, const struct file_reader *reader);

/*
 * Opens the file behind a mapping of a process, in whatever mount namespace and also when it was
 * deleted: /proc/PID/map_files first (needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE), then
 * /proc/PID/root/PATH without ever leaving that root, then /proc/PID/exe; the latter two are
 * checked against device and inode. A descriptor (O_RDONLY | O_CLOEXEC), or negative errno: -ENOENT
 * when no file is behind it, -ENODEV when it is not a regular file (which is then never opened),
 * -ESTALE when another file has that name now, -EBUSY when another process holds a lease on it,
 * -EREMOTE when its file system is one that another user may serve, of which nothing is asked,
 * -ETIMEDOUT when its server lets us wait: a helper opens what has one.
 */
int proc_map_open(pid_t pid, const struct proc_map *map);

/* What both ask of a helper. */
struct open_in_root {
	pid_t pid;
	const char *path;
	struct file_reader reader;
};
struct open_map {
	pid_t pid;
	struct proc_map map;
};
extern const struct layout open_in_root_layout, open_map_layout;

/*
 * What both have a helper do, in a process of target/file_helper.h: its file_helper_open_fn. fd:
 * what came with the request.
 */
int open_serve(const struct strbuf *request, int fd);

#endif
