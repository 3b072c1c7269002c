/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that fork others for the daemon (sandbox/keeper.h, target/file_helper.h): how they
 * come free of what it holds, and how another is started when one was killed. The first is forked
 * before the daemon holds anything. A later fork would inherit its memory, so the next one executes
 * the program anew: main() calls the role that argv[0] names.
 */
#ifndef MEMTRACED_SANDBOX_HELPER_START_H
#define MEMTRACED_SANDBOX_HELPER_START_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The descriptor of its socket in each of them; they have no others but streams of nothing. */
enum { HELPER_SOCKET = 3 };

/*
 * In the new process: moves its socket to HELPER_SOCKET, closes all else, leaves the session and
 * blocks `signals` (a terminal or a service manager sends them to all). 0 or negative errno.
 */
int helper_isolate(int fd, const int *signals, size_t n);

/*
 * Starts this program in the role `name` in place of `*pid`, which has closed its socket: it is
 * killed and waited for. *pid and *fd (closed, and replaced by the new one's non-blocking socket)
 * are changed upon success alone. 0 or negative errno.
 */
int helper_restart(const char *name, pid_t *pid, int *fd);

#endif
