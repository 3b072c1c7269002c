/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes behind sandbox/keeper.h: the keeper, and the workers that it forks.
 */
#ifndef MEMTRACED_SANDBOX_KEEPER_PROCESS_H
#define MEMTRACED_SANDBOX_KEEPER_PROCESS_H

#include "base/codec.h"
#include "sandbox/worker_ops.h"

#include <sys/types.h>

/* The keeper's name, as ps(1) and the signals that it sends show it; and its role (main.c). */
#define KEEPER_COMM "memtraced-keep"

/* What the keeper is asked for. KEEPER_START is answered by a pid, and the worker's socket. */
enum keeper_request { KEEPER_START, KEEPER_STOP };

struct keeper_order {
	uint8_t what; /* enum keeper_request */
	pid_t pid;    /* of the worker that is to be stopped; else 0 */
};

struct keeper_stopped {
	bool has_ended;
	int status;
};

extern const struct layout keeper_order_layout, keeper_stopped_layout;

/* What a worker exits with that cannot do its work: beside those of signals. */
enum worker_exit {
	WORKER_EXIT_OVER,      /* its socket was closed */
	WORKER_EXIT_CONFINE,   /* it could not give up what it must not have */
	WORKER_EXIT_NO_MEMORY, /* or another error of what it serves */
};

/* In the child, with the keeper's end of the socket. */
_Noreturn void keeper_process(const struct worker_ops *ops, int fd);

#endif
