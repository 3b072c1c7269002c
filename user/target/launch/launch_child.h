/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The child's side of target/launch/launch.h, from fork to exec: the process state that it is given
 * back, its terminal, what it does. memtraced may have threads, so that only what signal-safety(7)
 * allows may be done in the child: everything is prepared before the fork.
 */
#ifndef MEMTRACED_TARGET_LAUNCH_LAUNCH_CHILD_H
#define MEMTRACED_TARGET_LAUNCH_LAUNCH_CHILD_H

#include "target/identity.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/*
 * What a child shall have as memtraced was given it, but memtraced changes for itself: signals
 * (blocked for signalfd, SIGPIPE ignored) and limits (libbpf raises RLIMIT_MEMLOCK).
 */
struct launch_inherited {
	sigset_t mask;
	sigset_t ignored; /* all others are at their default: handlers do not survive an exec */
	struct rlimit limits[RLIM_NLIMITS];
};

/* To be called first thing in main. 0 or negative errno. */
int launch_inherited_save(struct launch_inherited *ret_inherited);

/*
 * The pseudo-terminal of a command that runs as another user than memtraced's terminal belongs to.
 * A process may type into its controlling terminal (TIOCSTI, TIOCLINUX) what the shell there reads
 * when the process has ended: such a command has a session and a terminal of its own.
 */

struct launch_terminal {
	int outer;  /* memtraced's terminal, opened once more; non-blocking; -1: none of this */
	int master; /* non-blocking */
	int slave;  /* belongs to the user, with the modes and the size of the outer one */
	bool replaces[3]; /* the standard streams that are memtraced's terminal */
};

#define LAUNCH_TERMINAL_NONE                                                                       \
	{                                                                                          \
		.outer = -1, .master = -1, .slave = -1                                             \
	}

/*
 * memtraced's terminal is its controlling terminal or, without one, the first that is a standard
 * stream. Opens a pseudo-terminal unless `uid` owns that one or there is none. 0 or negative errno.
 */
int launch_terminal_open(uid_t uid, struct launch_terminal *ret_terminal);
void launch_terminal_done(struct launch_terminal *terminal);

struct launch_child {
	char *const *argv;
	char **environment;
	const struct identity *identity;
	const struct launch_inherited *inherited;
	const struct launch_terminal *terminal; /* whose slave becomes standard streams */
	bool stdout_to_stderr;
	int socket; /* SOCK_SEQPACKET: one int a message, see below; closed by the exec */
	int parent_socket;
};

/*
 * Sends 0 when ready or an errno, waits for one message, execs; sends the errno of a failed exec.
 * Called with all signals blocked.
 */
_Noreturn void launch_child_run(const struct launch_child *child);

#endif
