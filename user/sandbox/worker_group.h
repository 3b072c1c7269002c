/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What workers of one keeper share, so that it holds for all: which files workers have died of, how
 * long they may still work for each owner of files, and how many may still be started after deaths
 * that no owner is charged for. For sandbox/worker.h. Any thread.
 */
#ifndef MEMTRACED_SANDBOX_WORKER_GROUP_H
#define MEMTRACED_SANDBOX_WORKER_GROUP_H

#include "base/cleanup.h"
#include "sandbox/file_owner.h"
#include "sandbox/keeper.h"

struct worker_group;

/* Forks the keeper: the caller has one thread. 0 or negative errno. */
int worker_group_new(const struct worker_ops *ops, struct worker_group **ret_group);
struct worker_group *worker_group_ref(struct worker_group *group);
/* The last one stops the keeper. NULL is legal. */
void worker_group_unref(struct worker_group *group);
DEFINE_CLEANUP(struct worker_group, worker_group_unref)

struct keeper *worker_group_keeper(const struct worker_group *group);

/* Whose files are believed like our own program's. */
const struct file_owner *worker_group_own(const struct worker_group *group);

/* sandbox/owner_budget.h */
bool worker_group_may_read(struct worker_group *group, const struct file_owner *owner);
void worker_group_charge(struct worker_group *group, const struct file_owner *owner,
			 uint64_t used_ns);

/* True: one may be started in place of one that has died; it is counted. */
bool worker_group_may_restart(struct worker_group *group);

/* A worker has died of the file. 0 or -ENOMEM. */
int worker_group_add_deadly(struct worker_group *group, const struct file_version *file);
/* Has one died of the file that is open? */
bool worker_group_is_deadly(struct worker_group *group, int fd);

#endif
