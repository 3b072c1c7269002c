/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small process that is forked before there is anything to inherit, and forks workers from then
 * on: a clean image each, without what the daemon holds by then (threads, maps, secrets, open
 * files). It has no capabilities, ends when the daemon does, and takes its workers with it. Any
 * thread may call keeper_start() and keeper_stop().
 */
#ifndef MEMTRACED_SANDBOX_KEEPER_H
#define MEMTRACED_SANDBOX_KEEPER_H

#include "base/cleanup.h"
#include "sandbox/worker_ops.h"

#include <sys/types.h>

struct keeper;

/* Forks it; the caller has one thread. `ops` is static data. 0 or negative errno. */
int keeper_new(const struct worker_ops *ops, struct keeper **ret_keeper);
/* Waits for its end. NULL is legal. */
void keeper_free(struct keeper *keeper);
DEFINE_CLEANUP(struct keeper, keeper_free)

/*
 * Starts one more worker, which lives until keeper_stop(). *ret_fd is the non-blocking socket on
 * which it takes requests (sandbox/message.h). 0 or negative errno; -EAGAIN: there are as many as
 * may be; -EPIPE: the keeper has died.
 */
int keeper_start(struct keeper *keeper, int *ret_fd, pid_t *ret_pid);

/*
 * Kills a worker if it lives. *ret_status: its end, as wait(2)'s. 0 or negative errno;
 * -EINPROGRESS: it has not ended yet, as the kernel waits for a file system, say.
 */
int keeper_stop(struct keeper *keeper, pid_t pid, int *ret_status);

pid_t keeper_pid(const struct keeper *keeper);

#endif
