/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that fork others for the daemon (sandbox/keeper.h, target/file_helper.h): their
 * sockets, how they come free of what it holds, and another in their place when one was killed. The
 * first is forked before the daemon holds anything. A later fork would inherit its memory, so the
 * next one executes the program anew: main() calls the role that argv[0] names. Threading: the
 * caller's lock, but for forker_pid() and forker_restarts().
 */
#ifndef MEMTRACED_SANDBOX_FORKER_H
#define MEMTRACED_SANDBOX_FORKER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The descriptor of its socket in each of them; they have no others but streams of nothing. */
enum { HELPER_SOCKET = 3 };

/*
 * In the new process: moves its socket to HELPER_SOCKET, closes all else, leaves the session and
 * blocks `signals` (a terminal or a service manager sends them to all). 0 or negative errno.
 */
int helper_isolate(int fd, const int *signals, size_t n);

/*
 * How often a helper process may be started after deaths that no owner of a file is charged for: so
 * many times at once, then once in ten seconds.
 */
struct start_budget {
	unsigned int left;
	uint64_t refilled_ns;
};

void start_budget_init(struct start_budget *budget, uint64_t now_ns);
/* True: one may be started, and it is counted. */
bool start_budget_take(struct start_budget *budget, uint64_t now_ns);

struct forker {
	const char *role; /* its argv[0] when it is started again; NULL: it is not */
	pid_t pid;
	int fd; /* non-blocking; the caller closes it */
	unsigned int n_restarts;
	struct start_budget restarts;
};

/* In the new process, with its end of the socket. Does not return. */
typedef void (*forker_fn)(int fd, const void *userdata);

/*
 * Forks it, to be killed with the caller, which has one thread. 0 or negative errno: then nothing
 * is to be closed.
 */
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
