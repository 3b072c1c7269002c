/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The job behind --syscalls: all system calls, what they do with files, who makes them. Counted by
 * bpf/syscalls.bpf.c.
 */
#ifndef MEMTRACED_TRACE_JOBS_SYSCALLS_JOB_H
#define MEMTRACED_TRACE_JOBS_SYSCALLS_JOB_H

#include "bpf/abi_syscalls.h"
#include "trace/jobs/job.h"

#include <stdbool.h>
#include <stddef.h>

/* Loads and attaches. `max_stack`: callers kept of a stack, 0: no stacks. 0 or negative errno. */
int syscalls_job_new(const struct job_context *context, uint32_t max_stack, struct job **ret_job);

/* Takes in a ring record of type ABI_EV_FILE. 0 or -ENOMEM. */
int syscalls_job_on_file(struct job *job, const struct abi_ev_file *ev);

/* Deletes the entries of these slots (bitmap by slot). 0 or negative errno. */
int syscalls_job_purge(struct job *job, const bool *slots, size_t n_slots);

#endif
