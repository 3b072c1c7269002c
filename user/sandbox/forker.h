/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that forks others for the daemon, as the daemon has it: its socket, whether it is still
 * there, and another one in its place when it was killed (sandbox/helper_start.h). Threading: the
 * caller's lock, but for forker_pid() and forker_restarts().
 */
#ifndef MEMTRACED_SANDBOX_FORKER_H
#define MEMTRACED_SANDBOX_FORKER_H

#include "sandbox/start_budget.h"

#include <stdbool.h>
#include <sys/types.h>

struct forker {
	const char *role; /* of helper_restart(); NULL: it is not started again */
	pid_t pid;
	int fd; /* non-blocking; the caller closes it */
	unsigned int n_restarts;
	struct start_budget restarts;
};

/* In the new process, with its end of the socket. Does not return. */
typedef void (*forker_fn)(int fd, const void *userdata);

/* Forks it; the caller has one thread. 0 or negative errno: then nothing is to be closed. */
int forker_begin(struct forker *forker, const char *role, forker_fn fn, const void *userdata);

bool forker_has_ended(const struct forker *forker);
/* The same of a process that it has forked, by its socket: they say nothing without being asked. */
bool forked_has_ended(int fd);

/* Another in its place, with another socket. 0 or negative errno; -EAGAIN: not again yet. */
int forker_restart(struct forker *forker);

pid_t forker_pid(const struct forker *forker);
/* How often it was started in place of one that was killed. */
unsigned int forker_restarts(const struct forker *forker);

#endif
