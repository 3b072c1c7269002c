/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls of each process, what it did with files and who made the calls, at the latest
 * cut. Part of the model; a process that ended keeps its last values.
 */
#ifndef MEMTRACED_MODEL_SYSCALLS_H
#define MEMTRACED_MODEL_SYSCALLS_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "model/strings.h"
#include "trace/record/record.h"

/* Of one process image. Arrays and what they point to belong to the model. */
struct model_syscalls {
	image_t image;
	VEC(struct record_syscall) calls;
	VEC(struct record_syscall_file) files;
	VEC(struct record_syscall_stack) stacks;
};

struct process_syscalls;

struct syscalls {
	/* Processes that made any, in the order in which that was first known. */
	VEC(const struct model_syscalls *) list;
	struct strings *strings;
	struct hashmap by_image;
	VEC(struct process_syscalls *) in_cut; /* the one that is being read */
};

/* `strings` must outlive the system calls. */
void syscalls_init(struct syscalls *ret_syscalls, struct strings *strings);
void syscalls_done(struct syscalls *syscalls);

/*
 * A cut replaces everything of the processes that are in it, when it ends; an unfinished one leaves
 * everything as it was. 0 or -ENOMEM.
 */
void syscalls_cut_begin(struct syscalls *syscalls);
int syscalls_cut_call(struct syscalls *syscalls, const struct record_syscall *record);
int syscalls_cut_file(struct syscalls *syscalls, const struct record_syscall_file *record);
int syscalls_cut_stack(struct syscalls *syscalls, const struct record_syscall_stack *record);
int syscalls_cut_end(struct syscalls *syscalls);

#endif
