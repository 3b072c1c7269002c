/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small process that is forked before there is anything to inherit, and forks workers from then
 * on: a clean image each, without what the daemon holds by then (threads, maps, secrets, open
 * files). It has no capabilities, ends when the daemon does, and takes its workers with it. One
 * that was killed is started again (sandbox/forker.h) when a worker is wanted. Any thread may
 * call all but keeper_new() and keeper_free().
 */
#ifndef MEMTRACED_SANDBOX_KEEPER_H
#define MEMTRACED_SANDBOX_KEEPER_H

#include "base/cleanup.h"
#include "sandbox/worker_ops.h"

#include <stdbool.h>
#include <sys/types.h>

struct keeper;

/* A worker; the generation says by which keeper it was forked: a pid may be used again. */
struct kept_process {
	pid_t pid; /* 0: none */
	unsigned int generation;
};

/* Forks it; the caller has one thread. `ops` is static data. 0 or negative errno. */
int keeper_new(const struct worker_ops *ops, struct keeper **ret_keeper);
/* Waits for its end. NULL is legal. */
void keeper_free(struct keeper *keeper);
DEFINE_CLEANUP(struct keeper, keeper_free)

/*
 * Starts one more worker, which lives until keeper_stop(). *ret_fd is the non-blocking socket on
 * which it takes requests (sandbox/message.h). 0 or negative errno; -EAGAIN: there are as many as
 * may be, or the keeper was killed and must not be started again yet.
 */
int keeper_start(struct keeper *keeper, int *ret_fd, struct kept_process *ret_process);

/* Is the keeper that has forked it still there? Otherwise the process was killed with it. */
bool keeper_has(struct keeper *keeper, struct kept_process process);

/*
 * Kills a worker if it lives. *ret_status: its end, as wait(2)'s. 0 or negative errno;
 * -EINPROGRESS: it has not ended yet, as the kernel waits for a file system, say; -EPIPE: it was
 * killed with its keeper.
 */
int keeper_stop(struct keeper *keeper, struct kept_process process, int *ret_status);

pid_t keeper_pid(const struct keeper *keeper);
/* How often it was started in place of one that was killed. */
unsigned int keeper_restarts(const struct keeper *keeper);

#endif
