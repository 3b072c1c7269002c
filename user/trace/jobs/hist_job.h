/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One histogram: of a system call, of a tracepoint's field, or of what an allocator function is
 * asked for. Counted by bpf/hist.bpf.c.
 */
#ifndef MEMTRACED_TRACE_JOBS_HIST_JOB_H
#define MEMTRACED_TRACE_JOBS_HIST_JOB_H

#include "config/event_spec.h"
#include "trace/jobs/job.h"

#include <stdbool.h>

/*
 * Loads and attaches; `id` is the job's in its records, `spec` is borrowed for good. 0 or negative
 * errno; -EINVAL: the kernel has no such system call, tracepoint or field, context->error says what
 * comes near. `multi`: allocator functions are attached by uprobe-multi links.
 */
int hist_job_new(const struct job_context *context, const struct hist_spec *spec, uint32_t id,
		 bool multi, struct job **ret_job);

/* The program for the entries of the allocator functions, -1 when the job is of something else. */
int hist_job_size_fd(const struct job *job);

#endif
