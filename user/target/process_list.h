/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that run now: of the host, as far as /proc shows them, or of a cgroup. What begins
 * or ends meanwhile may be in the list or not.
 */
#ifndef MEMTRACED_TARGET_PROCESS_LIST_H
#define MEMTRACED_TARGET_PROCESS_LIST_H

#include "base/vec.h"

#include <stdbool.h>
#include <sys/types.h>

typedef VEC(pid_t) pid_vec;

static inline void pid_vec_done(pid_vec *pids)
{
	vec_done(pids);
}

/* All of /proc. 0 or negative errno; for vec_done. */
int process_list_host(pid_vec *ret_pids);

/* Those of a cgroup (its folder, which stays open) and of all below it. 0 or negative errno. */
int process_list_cgroup(int folder_fd, pid_vec *ret_pids);

/*
 * Processes of the host that descend from `pid`, parents first, without zombies, and without
 * `except` and its descendants. A process whose parent has ended is no descendant of it any more.
 * 0 or negative errno.
 */
int process_list_descendants(pid_t pid, pid_t except, pid_vec *ret_pids);

/*
 * Programs that translate code of their own architecture (Valgrind, qemu-user, DynamoRIO, Pin), by
 * their executables' names. A breakpoint in what they copy ends them.
 */
bool translator_is(const char *exe);

/*
 * The executable of one that runs here, malloc'ed; NULL: there is none. 0 or negative errno;
 * -ETIMEDOUT: none is known, but a process could not be read, which may be one.
 */
int translator_find(char **ret_exe);

#endif
