/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A path that leads through what other users made: walked name by name, so that each folder and
 * each symbolic link is judged before it is searched or followed. openat2(2) judges neither by who
 * made it nor by whose file system it is on, and no signal interrupts it. Any thread.
 */
#ifndef MEMTRACED_BASE_PATH_WALK_H
#define MEMTRACED_BASE_PATH_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

enum path_link { PATH_FOLLOW, PATH_FOLLOW_BY_KERNEL };

struct path_rules {
	/* Absolute links and ".." lead to the folder that the walk began in, and not out of it. */
	bool in_root;
	/* May names be looked up in the folder? 0 or negative errno. NULL: in all. */
	int (*check_folder)(int fd, const void *userdata);
	/* May the link be followed? An enum path_link or negative errno; by file_status(). */
	int (*check_link)(int fd, const struct stat *st, const void *userdata);
};

/*
 * The place (O_PATH) that `path` names, from the folder `fd` (O_PATH), which stays the caller's. A
 * descriptor or negative errno: what a rule returned, -ELOOP, -ENAMETOOLONG, or that of openat(2).
 */
int path_walk(int fd, const char *path, const struct path_rules *rules, const void *userdata);

#endif
