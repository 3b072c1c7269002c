/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a process's run-time leaves its JIT map: /tmp/perf-PID.map, by the process's own root and
 * pid namespace. Held open, so that the map can be read after the process's end.
 */
#ifndef MEMTRACED_TARGET_JIT_HOME_H
#define MEMTRACED_TARGET_JIT_HOME_H

#include <sys/types.h>

struct jit_home {
	int tmp_fd; /* O_PATH of its /tmp, which no server is asked for; -1: not open */
	pid_t pid;
	pid_t ns_pid; /* in its own pid namespace */
	uid_t uid;
};

/* 0 or negative errno; -ESRCH when the process is gone. */
int jit_home_open(pid_t pid, struct jit_home *ret_home);
void jit_home_done(struct jit_home *home);

/*
 * The map, for reading. A descriptor or negative errno: -ENOENT when there is none, -EPERM when it
 * is not the process's user's own regular file, as anybody may put one into /tmp.
 */
int jit_home_open_map(const struct jit_home *home);

#endif
