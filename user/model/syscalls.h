/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls of each process, what it did with files and who made the calls, at the latest
 * cut. Part of the model; a process that ended keeps its last values.
 */
#ifndef MEMTRACED_MODEL_SYSCALLS_H
#define MEMTRACED_MODEL_SYSCALLS_H

#include "base/cleanup.h"
#include "model/strings.h"
#include "trace/record/record.h"

/* Of one process image. Arrays and what they point to belong to the model. */
struct model_syscalls {
	uint32_t slot;
	const struct record_syscall *calls;
	size_t n_calls;
	const struct record_syscall_file *files;
	size_t n_files;
	const struct record_syscall_stack *stacks;
	size_t n_stacks;
};

struct syscalls;

/* `strings` must outlive the system calls. */
int syscalls_new(struct strings *strings, struct syscalls **ret_syscalls);
/* NULL is legal. */
void syscalls_free(struct syscalls *syscalls);
DEFINE_CLEANUP(struct syscalls, syscalls_free)

/*
 * A cut replaces everything of the processes that are in it, when it ends; an unfinished one leaves
 * everything as it was. 0 or -ENOMEM.
 */
int syscalls_cut_begin(struct syscalls *syscalls);
int syscalls_cut_call(struct syscalls *syscalls, const struct record_syscall *record);
int syscalls_cut_file(struct syscalls *syscalls, const struct record_syscall_file *record);
int syscalls_cut_stack(struct syscalls *syscalls, const struct record_syscall_stack *record);
int syscalls_cut_end(struct syscalls *syscalls);

/* Processes that made any, in the order in which that was first known. */
size_t syscalls_count(const struct syscalls *syscalls);
const struct model_syscalls *syscalls_get(const struct syscalls *syscalls, size_t index);

#endif
