/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes behind sandbox/keeper.h: the keeper, and the workers that it forks.
 */
#ifndef MEMTRACED_SANDBOX_KEEPER_PROCESS_H
#define MEMTRACED_SANDBOX_KEEPER_PROCESS_H

#include "sandbox/worker_ops.h"

/* The keeper's name, as ps(1) and the signals that it sends show it; and its role (main.c). */
#define KEEPER_COMM "memtraced-keep"

/*
 * A byte each, and the pid of the worker that is to be stopped. Answers: pid of the worker, with
 * its socket (0: it could not be started); whether it has ended, and its status.
 */
enum keeper_request { KEEPER_START, KEEPER_STOP };

/* What a worker exits with that cannot do its work: beside those of signals. */
enum worker_exit {
	WORKER_EXIT_OVER,      /* its socket was closed */
	WORKER_EXIT_CONFINE,   /* it could not give up what it must not have */
	WORKER_EXIT_NO_MEMORY, /* or another error of what it serves */
};

/* In the child, with the keeper's end of the socket. */
_Noreturn void keeper_process(const struct worker_ops *ops, int fd);

#endif
