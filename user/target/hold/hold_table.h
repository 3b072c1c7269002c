/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads and processes that target/hold/hold.h has seized: pure bookkeeping, without system
 * calls; and how it begins to hold what was not born under it.
 */
#ifndef MEMTRACED_TARGET_HOLD_HOLD_TABLE_H
#define MEMTRACED_TARGET_HOLD_HOLD_TABLE_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct hold_table;

struct held_process {
	pid_t pid;
	pid_t parent;	 /* 0: seized, not born under our eyes */
	bool exiting;	 /* that was told */
	bool unwanted;	 /* could not be seized as a whole: all of it is to be let go */
	uint32_t n_born; /* threads of this image that were born under our eyes */
	LIST_HEAD(, held_thread) threads;
};

struct held_thread {
	pid_t tid;
	struct held_process *process; /* NULL: a newborn whose origin is not known yet */
	bool born;		      /* has made its first stop */
	bool exiting;		      /* runs no more code */
	bool unwanted;	  /* could not be noted, or is not the process's: to be let go */
	int birth_signal; /* of the first stop: a stop signal when born into a group-stop */
	LIST_ENTRY(held_thread) siblings;
};

int hold_table_new(struct hold_table **ret_table);
void hold_table_free(struct hold_table *table);
DEFINE_CLEANUP(struct hold_table, hold_table_free)

/* NULL: not there. Both stay where they are until they are removed. */
struct held_thread *hold_table_thread(const struct hold_table *table, pid_t tid);
struct held_process *hold_table_process(const struct hold_table *table, pid_t pid);

/* Adds one that is not there; `process` may be NULL. 0 or -ENOMEM. */
int hold_table_add_thread(struct hold_table *table, pid_t tid, struct held_process *process,
			  struct held_thread **ret_thread);
int hold_table_add_process(struct hold_table *table, pid_t pid, pid_t parent,
			   struct held_process **ret_process);

/* For a thread that has none yet. */
void hold_table_join_process(struct held_thread *thread, struct held_process *process);

/* Removes and frees; the process stays. */
void hold_table_remove_thread(struct hold_table *table, struct held_thread *thread);

/* Removes and frees the process's threads except `keep` (may be NULL). */
void hold_table_remove_threads(struct hold_table *table, struct held_process *process,
			       const struct held_thread *keep);

/* Removes and frees a process and all its threads. */
void hold_table_remove_process(struct hold_table *table, struct held_process *process);

size_t hold_table_n_threads(const struct hold_table *table);

/*
 * The calling thread becomes the tracer (ptrace(2), PTRACE_SEIZE) of a child of one thread that
 * waits to be let go. `options`: PTRACE_O_*. 0 or negative errno.
 */
int hold_seize_waiting(struct hold_table *table, pid_t pid, long options);

/*
 * All threads of a process that runs. 0; -ESRCH: it has ended; -EBUSY: it has another tracer; or
 * another negative errno: what was seized by then is going to stop, and is to be let go (unwanted).
 */
int hold_seize_threads(struct hold_table *table, pid_t pid, long options);

#endif
