/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pseudo-terminal of a command that runs as another user than memtraced's terminal belongs to.
 * A process may type into its controlling terminal (TIOCSTI, TIOCLINUX) what the shell there reads
 * when the process has ended: such a command has a session and a terminal of its own.
 */
#ifndef MEMTRACED_TARGET_LAUNCH_TERMINAL_H
#define MEMTRACED_TARGET_LAUNCH_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

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

#endif
