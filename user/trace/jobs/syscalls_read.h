/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs behind --syscalls have counted, summed over CPUs and made into records. Used by
 * trace/jobs/syscalls_job.c alone.
 */
#ifndef MEMTRACED_TRACE_JOBS_SYSCALLS_READ_H
#define MEMTRACED_TRACE_JOBS_SYSCALLS_READ_H

#include "trace/jobs/file_names.h"
#include "trace/record/record.h"

#include <stdbool.h>

struct syscall_maps {
	int calls_fd, errors_fd, files_fd, stacks_fd; /* stacks_fd -1: none are taken */
};

/*
 * Emits the records of all that is there, with the number of a slot where they will have the
 * number of an image: who is in it, trace/live knows. 0 or negative errno.
 */
int syscalls_read(const struct syscall_maps *maps, const struct file_names *names, record_fn fn,
		  void *userdata);

/* Deletes the entries of these slots (bitmap by slot). 0 or negative errno. */
int syscalls_purge(const struct syscall_maps *maps, const bool *slots, size_t n_slots);

#endif
