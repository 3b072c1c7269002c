/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a view holds of system calls: of each process, and of all together. Plain data, owned by the
 * view, which alone makes it.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_SYSCALLS_H
#define MEMTRACED_REPORT_VIEW_VIEW_SYSCALLS_H

#include "model/model.h"
#include "report/view/symbols.h"
#include "report/view/view_stack.h"

/* One system call. */
struct view_call {
	struct record_syscall sum; /* its arrays are owned */
	uint64_t timed;		   /* calls that have a latency */
	uint64_t p99_ns;	   /* no more than one in a hundred of these took longer */
};

/* Who made it: stacks with the same places are one. */
struct view_caller {
	const struct model_process *image; /* never NULL */
	int32_t number;
	const char *name; /* NULL: unknown */
	uint64_t calls, total_ns;
	struct view_stack stack;
};

struct view_calls {
	const struct model_process *image; /* NULL: all processes */
	uint64_t n, errors, total_ns;
	/* each the longest time first */
	size_t n_calls, n_files, n_callers;
	struct view_call *calls;
	struct record_syscall_file *files;
	struct view_caller **callers;
};

struct view_syscalls {
	struct view_calls all;
	size_t n_processes;
	struct view_calls *processes; /* the longest time first */
};

/* 0 or -ENOMEM; they have to be released in both cases. */
int view_syscalls_init(const struct model *model, struct symbols *symbols,
		       struct view_syscalls *ret_syscalls);
void view_syscalls_done(struct view_syscalls *syscalls);

/*
 * A time that no more than one in a hundred of the calls in these buckets (ascending) exceeded: the
 * upper end of a bucket, or the longest time. 0 when there are none.
 */
uint64_t view_p99_ns(const struct record_bucket *buckets, size_t n, uint64_t max_ns);

#endif
