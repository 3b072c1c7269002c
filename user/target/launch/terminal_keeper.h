/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that leads the session of a command with a terminal of its own (launch_child.h),
 * as the kernel lets only a process of that session name the foreground process group. All that is
 * done here is done after fork, with all signals blocked, by what signal-safety(7) allows.
 *
 *	memtraced --+-- keeper             leads the session; its group is the background
 *	            |     |
 *	            |     +-- sentinel     leads the command's process group, the job
 *	            +-- command            in the job
 *
 * The kernel stops no process of a group whose members all have their parents outside of the
 * session (it is "orphaned"). The command's parent is memtraced, the sentinel's is the keeper: with
 * the sentinel in the group, job control works. It also tells memtraced of SIGINT.
 *
 * When memtraced has ended, in whatever way, the keeper gives back the modes of memtraced's
 * terminal, and writes there what the command writes until nothing has its terminal open any more:
 * a command goes on after memtraced as a process in the background does after its shell.
 */
#ifndef MEMTRACED_TARGET_LAUNCH_TERMINAL_KEEPER_H
#define MEMTRACED_TARGET_LAUNCH_TERMINAL_KEEPER_H

#include "target/launch/launch_child.h"

#include <termios.h>

/* The keeper's first message. */
struct terminal_keeper_started {
	int error; /* 0, or the errno of what failed */
	pid_t pid, job;
};

/* From memtraced. */
struct terminal_order {
	bool is_foreground;   /* the job has the terminal, and the outer one has other modes */
	bool resume;	      /* then continue the job (SIGCONT) */
	bool orphan;	      /* end the sentinel: a job that stops would stay stopped */
	struct termios modes; /* those to be given back to the outer terminal */
};

/* The last order may have output of the command behind it, which memtraced has read. */
#define TERMINAL_OUTPUT_BYTES 16384

/*
 * Messages to memtraced: an int. From the sentinel, the signal that the terminal has sent to the
 * job; from the keeper, TERMINAL_ORDER_DONE after each order.
 */
#define TERMINAL_ORDER_DONE 0

struct terminal_keeper {
	const struct launch_terminal *terminal;
	int control; /* SOCK_SEQPACKET */
	int parent_control;
};

/* Starts the command, then serves until both memtraced and the use of the terminal have ended. */
_Noreturn void terminal_keeper_run(const struct terminal_keeper *keeper,
				   const struct launch_child *child);

#endif
