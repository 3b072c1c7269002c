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
	__u64 hash = 0;

	if (!knob_max_stack || !BPF_CORE_READ(task, mm))
		return 0;
	s = scratch_get();
	if (!s) {
		count_loss(ABI_LOST_SCRATCH_BUSY);
		return 0;
	}
	if (user_frames(ctx, &s->ev)) {
		hash = stack_hash(&s->ev, (__u64)slot << 32 | proc->code_epoch);
		s->ev.hash = hash;
		stack_publish(proc, &s->ev, slot);
	} else {
		count_loss(ABI_LOST_STACK_UNREADABLE);
	}
	scratch_put(s);
	return hash;
}

/* Seed of kernel stacks: no slot is as large. */
#define KERNEL_SEED ((__u64)ABI_NO_SLOT << 32)

static __always_inline __u64 kernel_stack_capture(void *ctx, struct abi_proc *proc)
{
	struct stack_scratch *s = scratch_get();
	__u64 hash = 0;
	long len;

	if (!s) {
		count_loss(ABI_LOST_SCRATCH_BUSY);
		return 0;
	}
	len = bpf_get_stack(ctx, s->ev.frame, ABI_MAX_FRAMES * 8, 0);
	if (len >= 8) {
		s->ev.frames = (__u64)len / 8;
		s->ev.flags = ABI_STACK_KERNEL;
		if (s->ev.frames >= ABI_MAX_FRAMES)
			s->ev.flags |= ABI_STACK_TRUNCATED;
		hash = stack_hash(&s->ev, KERNEL_SEED);
		s->ev.hash = hash;
		stack_publish(proc, &s->ev, ABI_NO_SLOT);
	} else {
		count_loss(ABI_LOST_STACK_UNREADABLE);
	}
	scratch_put(s);
	return hash;
}

#endif
