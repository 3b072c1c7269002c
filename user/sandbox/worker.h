/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has requests answered by a process that may be killed by them: it is confined, started when it is
 * first asked, again after its death, not too often, and anew for files of another owner than those
 * that it has read (sandbox/file_owner.h). What it answers is another's word. A worker is used by
 * one thread; each thread may have its own, beside the others.
 */
#ifndef MEMTRACED_SANDBOX_WORKER_H
#define MEMTRACED_SANDBOX_WORKER_H

#include "base/cleanup.h"
#include "sandbox/worker_ops.h"

#include <stdint.h>
#include <sys/types.h>

struct worker;

/*
 * Forks what will fork it (sandbox/keeper.h), so early: the caller has one thread and has opened
 * nothing. A request may take CPU time in proportion to the size of its files, and an answer that
 * takes longer than five times as much, or than timeout_ns (0: no matter), is none. 0 or negative
 * errno.
 */
int worker_new(const struct worker_ops *ops, uint64_t timeout_ns, struct worker **ret_worker);
/*
 * Another worker of the same keeper, for another thread: with its own process, which has its own
 * limits. Files that have killed one of them are not tried again by any; starts after deaths are
 * limited together. 0 or negative errno.
 */
int worker_new_beside(const struct worker *worker, struct worker **ret_worker);
/* The same without a process: requests are answered by the caller itself. */
int worker_new_inside(const struct worker_ops *ops, struct worker **ret_worker);
/* Its process ends. NULL is legal. */
void worker_free(struct worker *worker);
DEFINE_CLEANUP(struct worker, worker_free)

/*
 * 0; -EPIPE: the worker died of the request, took too long, or has done so before with the same
 * first file, which is not tried again until it was written to; -EAGAIN: there is no worker at the
 * moment, or the time for files of this owner is used up (sandbox/owner_budget.h); -ENOMEM, also of
 * a request that could not be made for that.
 */
int worker_call(struct worker *worker, const struct strbuf *request, const int *fds, size_t n_fds,
		struct strbuf *answer);

/*
 * Sends what worker_call will be called with soon, with this one file, and does not wait: that call
 * then finds it answered, or waits for less. Eight at most wait so, of 4 KiB at most; what would be
 * more, or take another process than the one that runs, is not asked: worker_call then does. The
 * answer is given to the same request about the same file alone, as the same writing left it and
 * with the same owner. Without a process it does nothing.
 */
void worker_ask_ahead(struct worker *worker, const struct strbuf *request, int fd);

/* A number that was not given before: names of what requests are about. */
uint64_t worker_next_number(struct worker *worker);

/* The last answer made no sense: the process that gave it is killed. -EPIPE. */
int worker_distrust(struct worker *worker);

/*
 * A file that this program has made itself, which is harmless whatever its owner is; until the next
 * such, or -1 for none: another may have its number later. 0 or negative errno.
 */
int worker_believe(struct worker *worker, int fd);

/* Starts it now, so that the first call need not. 0, -EAGAIN or -ENOMEM. */
int worker_start(struct worker *worker);

/* The process that forks workers (its children), and the one that serves; 0: there is none. */
pid_t worker_keeper(const struct worker *worker);
pid_t worker_pid(const struct worker *worker);
/* How often the former was started in place of one that was killed. */
unsigned int worker_keeper_restarts(const struct worker *worker);

#endif
