/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much CPU time a request to a worker may take, in proportion to the files that it is about.
 * The worker's own process sets it; the daemon does not wait much longer for the answer either, as
 * what has taken the worker over may undo it.
 */
#ifndef MEMTRACED_SANDBOX_WORK_LIMIT_H
#define MEMTRACED_SANDBOX_WORK_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* CPU time for these open files. */
uint64_t work_limit_ns(const int *fds, size_t n_fds);

/* How long an answer is waited for that may take so much CPU time: the machine may be busy. */
uint64_t work_wait_ns(uint64_t limit_ns);

/* The calling process dies of SIGPROF when it uses more CPU time from now on. 0: no limit. */
void work_limit_set(uint64_t limit_ns);

#endif
