/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs beside allocations: each counts something in the kernel by BPF programs of its own and is
 * read at every cut. The live source (trace/live/live.h) owns them; which processes concern them is
 * decided by the maps that they share with the main programs.
 */
#ifndef MEMTRACED_TRACE_JOBS_JOB_H
#define MEMTRACED_TRACE_JOBS_JOB_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "bpf/abi.h"
#include "trace/record/record.h"

#include <stdint.h>
#include <unistd.h>

struct bpf_object;
struct bpf_program;
struct job;
struct programs;

struct job_ops {
	/* The record that announces the job's counts. 0 or negative errno. */
	int (*describe)(const struct job *job, record_fn fn, void *userdata);
	/* Its counts so far, within a cut. 0 or negative errno. */
	int (*read)(struct job *job, record_fn fn, void *userdata);
	/* Times that its programs were not run because another ran on that CPU. */
	uint64_t (*missed)(const struct job *job);
	void (*free)(struct job *job);
};

/* The first member of every job. */
struct job {
	const struct job_ops *ops;
};

/* NULL is legal. */
static inline void job_free(struct job *job)
{
	if (job)
		job->ops->free(job);
}
DEFINE_CLEANUP(struct job, job_free)

struct job_context {
	const struct programs *programs; /* whose maps are shared */
	int tracefs_fd;
	enum abi_scope scope;
	struct strbuf *error; /* takes one line for the user with -EINVAL */
};

/*
 * The knobs of bpf/target.bpf.h. A macro: skeletons are types of their own, which have them in
 * common.
 */
#define job_set_scope(rodata, context)                                                             \
	do {                                                                                       \
		(rodata)->knob_scope = (context)->scope;                                           \
		(rodata)->knob_self = getpid();                                                    \
		(rodata)->knob_access = (context)->programs->access;                               \
		(rodata)->knob_max_procs = (context)->programs->max_procs;                         \
	} while (0)

/* Makes maps that the main programs have, too, the same. Before the load; 0 or negative errno. */
int job_share_maps(struct bpf_object *object, const struct programs *programs);

/*
 * The program on a tracepoint. A descriptor that detaches when it is closed, or negative errno;
 * -ENOENT: there is no such tracepoint.
 */
int job_attach_tracepoint(const struct job_context *context, const struct bpf_program *program,
			  const char *category, const char *name);

/*
 * For a system call's tracepoint (`category` "syscalls"; NULL: none) whose programs would be
 * preempted: the number by which they pick it out of all of them, where job_attach_tracepoint()
 * puts them then (bpf/syscall_filter.bpf.h). Else -1. `prefix` and `name` make the event's name.
 */
int32_t job_event_number(const struct job_context *context, const char *category,
			 const char *prefix, const char *name);

/*
 * Says in context->error, behind what it holds, that the kernel has no such tracepoint and what
 * comes near. `syscall`: the name of the system call that it was to be of, NULL: of none. -EINVAL,
 * or another negative errno.
 */
int job_no_event(const struct job_context *context, const char *category, const char *name,
		 const char *syscall);

#endif
