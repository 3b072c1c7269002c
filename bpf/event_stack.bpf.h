/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of tracepoints: of the user code that was running, and of the kernel.
 */
#ifndef MEMTRACED_EVENT_STACK_BPF_H
#define MEMTRACED_EVENT_STACK_BPF_H

#include "stack.bpf.h"

#include <bpf/bpf_core_read.h>

/* Inside a system call, ip is behind its instruction; [sp] is the return address of a wrapper
 * without a frame, as libc's are. Elsewhere ip is anywhere. */
static __always_inline bool user_frames(void *ctx, struct abi_ev_stack *ev)
{
	struct pt_regs *regs = task_registers();

	if ((__s64)BPF_CORE_READ(regs, orig_ax) >= 0) {
		if (!stack_walk(ctx, ev, BPF_CORE_READ(regs, sp), STACK_AT_SYSCALL))
			return false;
		ev->flags |= ABI_STACK_SYSCALL_IP;
		return true;
	}
	if (!stack_walk(ctx, ev, 0, STACK_AT_RETURN))
		return false;
	ev->flags |= ABI_STACK_INTERRUPTED;
	return true;
}

/* The id of the user stack; 0: none is wanted, a kernel thread, or lost (counted). */
static __always_inline __u64 user_stack_capture(void *ctx, struct abi_proc *proc, __u32 slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct stack_scratch *s;

	if (!knob_max_stack || !BPF_CORE_READ(task, mm))
		return 0;
	s = stack_begin();
	if (!s)
		return 0;
	return stack_end(proc, s, user_frames(ctx, &s->ev), stack_seed(proc, slot), slot);
}

/* Seed of kernel stacks: no slot is as large. */
#define KERNEL_SEED ((__u64)ABI_NO_SLOT << 32)

static __always_inline bool kernel_frames(void *ctx, struct abi_ev_stack *ev)
{
	long len = bpf_get_stack(ctx, ev->frame, ABI_MAX_FRAMES * 8, 0);

	if (len < 8)
		return false;
	ev->frames = (__u64)len / 8;
	ev->flags = ABI_STACK_KERNEL;
	if (ev->frames >= ABI_MAX_FRAMES)
		ev->flags |= ABI_STACK_TRUNCATED;
	return true;
}

static __always_inline __u64 kernel_stack_capture(void *ctx, struct abi_proc *proc)
{
	struct stack_scratch *s = stack_begin();

	if (!s)
		return 0;
	return stack_end(proc, s, kernel_frames(ctx, &s->ev), KERNEL_SEED, ABI_NO_SLOT);
}

#endif
