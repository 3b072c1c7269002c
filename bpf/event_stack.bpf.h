/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of tracepoints and samples: of the user code that was running, and of the kernel.
 */
#ifndef MEMTRACED_EVENT_STACK_BPF_H
#define MEMTRACED_EVENT_STACK_BPF_H

#include "stack.bpf.h"

#include <bpf/bpf_core_read.h>

#if WALKS_BY_CFI

#define BREAKPOINT 0xcc /* int3 */

/*
 * A thread that has met a probe's breakpoint is in the kernel with the address behind it, until the
 * kernel has looked for the probe (handle_swbp() in kernel/events/uprobes.c): a push that stood
 * there has not been done. Once it has, by the kernel in place of the processor, the address may be
 * the same; but then what is pushed is at sp, where before there was the return address.
 */
static __always_inline void leave_breakpoint(struct user_registers *regs, __u32 slot)
{
	__u64 address;
	__u8 byte;

	if (bpf_probe_read_user(&byte, sizeof(byte), (void *)regs->pc - 1) || byte != BREAKPOINT ||
	    !link_read(0, regs->sp, &address) || !unwind_is_code(slot, address - 1))
		return;
	regs->pc--;
}

#endif

/*
 * The stack of a system call that is in the kernel, or of code that was interrupted. `in_kernel`:
 * in its own, a trap's say, not in what has interrupted the user's.
 */
static __always_inline __u64 user_frames(void *ctx, struct stack_scratch *s, struct abi_proc *proc,
					 __u32 slot, bool in_kernel)
{
	struct user_registers regs;

	if (!read_user_registers(task_registers(), &regs))
		return 0;
#if WALKS_BY_CFI
	if (knob_unwind && leave_return_trampoline(&regs))
		return stack_walk(ctx, s, &regs, proc, slot, STACK_AT_RETURN, 0);
	if (knob_unwind && in_kernel && regs.syscall < 0)
		leave_breakpoint(&regs, slot);
#endif
	if (regs.syscall >= 0)
		return stack_walk(ctx, s, &regs, proc, slot, STACK_AT_SYSCALL,
				  ABI_STACK_SYSCALL | ABI_STACK_SYSCALL_IP);
	return stack_walk(ctx, s, &regs, proc, slot, STACK_AT_ANY, ABI_STACK_INTERRUPTED);
}

/*
 * A kernel thread has none, nor has one that works for a process (io_uring's), whose registers are
 * all 0; nor one that is ending, once its memory is gone; nor one that executes a file, from when
 * its memory is replaced on: where its code ends is noted last (load_elf_binary() in
 * fs/binfmt_elf.c), and then it has still to run.
 */
static __always_inline bool has_user_code(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct pt_regs *regs = task_registers();

	return mm && BPF_CORE_READ(mm, end_code) && PT_REGS_SP_CORE(regs) &&
	       !image_is_at_entry(regs);
}

/* The id of the user stack; 0: none is wanted, or lost (counted). */
static __always_inline __u64 user_stack_capture(void *ctx, struct abi_proc *proc, __u32 slot,
						bool in_kernel)
{
	struct stack_scratch *s;

	if (!knob_max_stack)
		return 0;
	if (!has_user_code())
		return ABI_STACK_NO_CODE;
	s = stack_begin();
	if (!s)
		return 0;
	return stack_end(proc, s, user_frames(ctx, s, proc, slot, in_kernel), slot);
}

/* Of the system call that is in the kernel, without the function that made it. */
static __always_inline __u64 caller_stack_capture(void *ctx, struct abi_proc *proc, __u32 slot)
{
	struct stack_scratch *s;
	struct user_registers regs;
	__u64 hash = 0;

	if (!knob_max_stack)
		return 0;
	s = stack_begin();
	if (!s)
		return 0;
	if (read_user_registers(task_registers(), &regs))
		hash = stack_walk(ctx, s, &regs, proc, slot, STACK_AT_SYSCALL, ABI_STACK_SYSCALL);
	return stack_end(proc, s, hash, slot);
}

/* Seed of kernel stacks: no slot is as large. */
#define KERNEL_SEED ((__u64)ABI_NO_SLOT << 32)

/*
 * `repeated`: frames that the kernel's walk gives twice. 0 is no loss where user code was
 * interrupted.
 */
static __always_inline __u64 kernel_stack_capture(void *ctx, struct abi_proc *proc, __u64 repeated)
{
	struct stack_scratch *s = stack_begin();
	struct abi_ev_stack *ev;
	long len;

	if (!s)
		return 0;
	ev = &s->ev;
	len = bpf_get_stack(ctx, ev->frame, ABI_KERNEL_FRAMES * 8, repeated);
	if (len == 0) {
		scratch_put(s);
		return 0;
	}
	if (len < 8)
		return stack_end(proc, s, 0, ABI_NO_SLOT);
	ev->frames = (__u64)len / 8;
	ev->flags = ABI_STACK_KERNEL;
	clear_exact(ev, false);
	if (ev->frames >= ABI_KERNEL_FRAMES)
		ev->flags |= ABI_STACK_TRUNCATED;
	return stack_end(proc, s, stack_hash(ev, KERNEL_SEED), ABI_NO_SLOT);
}

#endif
