/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of one event, a tracepoint, the entry of a system call, a clock's tick or a wait,
 * counted by bpf/event.bpf.c; its stacks and single occurrences come through the ring.
 */
#ifndef MEMTRACED_TRACE_JOBS_EVENT_JOB_H
#define MEMTRACED_TRACE_JOBS_EVENT_JOB_H

#include "config/event_spec.h"
#include "trace/jobs/job.h"

#include <stdbool.h>

struct event_job_opts {
	uint32_t id;	    /* of the event in its records */
	bool kernel_stacks; /* these, too */
	bool each;	    /* every event with its own time, as RECORD_OCCURRENCE */
	uint32_t max_stack; /* frames that are kept */
};

/*
 * Loads and attaches; `spec` is borrowed for good. 0 or negative errno; -EINVAL: the kernel has no
 * such event, context->error says what comes near.
 */
int event_job_new(const struct job_context *context, const struct event_spec *spec,
		  const struct event_job_opts *opts, struct job **ret_job);

/*
 * Deletes the counts of these images (in the order of their numbers), which have ended and were
 * read; nothing for a job of another kind. 0 or negative errno.
 */
int event_job_purge(struct job *job, const image_t *images, size_t n);

/*
 * To be called some times a second: what counts on each CPU goes on after a sleep of the machine,
 * and on CPUs that come (trace/jobs/cpu_links.h). 0, for a job of another kind as well, or negative
 * errno.
 */
int event_job_check(struct job *job);
/* How often a CPU may not have been counted on until then. */
uint64_t event_job_gaps(const struct job *job);

#endif
