/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of tracepoints and samples: of the user code that was running, and of the kernel.
 */
#ifndef MEMTRACED_EVENT_STACK_BPF_H
#define MEMTRACED_EVENT_STACK_BPF_H

#include "stack.bpf.h"

#include <bpf/bpf_core_read.h>

/* Whose stack. */
enum {
	EVENT_CALLER,	   /* of the system call that is in the kernel, without its function */
	EVENT_INTERRUPTED, /* of code that was interrupted, or of a system call */
	EVENT_IN_KERNEL,   /* the same, and it is in the kernel by its own trap or call */
};

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

/* Where the walk begins; flags of abi_ev_stack. */
static __always_inline enum stack_at event_at(struct user_registers *regs, __u32 slot, __u32 which,
					      __u32 *ret_flags)
{
	*ret_flags = ABI_STACK_SYSCALL;
	if (which == EVENT_CALLER)
		return STACK_AT_SYSCALL;
	*ret_flags = 0;
	if (leave_return_trampoline(regs))
		return STACK_AT_RETURN;
	*ret_flags = ABI_STACK_SYSCALL | ABI_STACK_SYSCALL_IP;
	if (regs->syscall >= 0)
		return STACK_AT_SYSCALL;
	if (which == EVENT_IN_KERNEL)
		leave_breakpoint(regs, slot);
	*ret_flags = ABI_STACK_INTERRUPTED;
	return STACK_AT_ANY;
}

/* No inline function, so that what it has on the stack is not there while the stack is walked. */
static __attribute__((noinline, unused)) bool event_stack_begin(struct stack_scratch *s, __u64 seed,
								__u32 slot, __u32 which)
{
	struct user_registers regs;
	enum stack_at at;

	/* Nothing of the stack is in the window so far. */
	if (!read_registers_in((void *)s->walk.window, task_registers(), &regs))
		return false;
	at = event_at(&regs, slot, which, &s->walk.flags);
	walk_cfi_begin(s, &regs, seed, slot, at);
	return true;
}

/*
 * The stack's id, by call frame information. Verified once for all that a program wants of it:
 * on_fault, where the walk stood in three places, took 18,200 verified instructions.
 */
VERIFIED_ONCE_NUMBERS __u64 event_stack(__u32 slot, __u32 which)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct stack_scratch *s = proc ? stack_begin() : NULL;
	__u64 hash = 0;

	if (!proc || !s)
		return 0;
	if (event_stack_begin(s, stack_seed(proc), slot, which)) {
		hash = unwind(s);
		s->ev.flags |= s->walk.flags;
	}
	return stack_end(proc, s, hash, slot);
}

#endif

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

/* Of a system call, or of code that was interrupted. No inline function, as event_stack_begin(). */
static __attribute__((noinline, unused)) __u64 event_walk_by_kernel(void *ctx,
								    struct stack_scratch *s,
								    const struct abi_proc *proc,
								    __u32 which)
{
	struct user_registers regs;

	if (!read_user_registers(task_registers(), &regs))
		return 0;
	if (which == EVENT_CALLER)
		return walk_by_kernel(ctx, s, &regs, proc, STACK_AT_SYSCALL, ABI_STACK_SYSCALL);
	if (regs.syscall >= 0)
		return walk_by_kernel(ctx, s, &regs, proc, STACK_AT_SYSCALL,
				      ABI_STACK_SYSCALL | ABI_STACK_SYSCALL_IP);
	return walk_by_kernel(ctx, s, &regs, proc, STACK_AT_ANY, ABI_STACK_INTERRUPTED);
}

static __always_inline __u64 event_stack_capture(void *ctx, struct abi_proc *proc, __u32 slot,
						 __u32 which)
{
	struct stack_scratch *s;

#if WALKS_BY_CFI
	if (knob_unwind)
		return event_stack(slot, which);
#endif
	s = stack_begin();
	if (!s)
		return 0;
	return stack_end(proc, s, event_walk_by_kernel(ctx, s, proc, which), slot);
}

/*
 * The id of the user stack, of a system call that is in the kernel or of code that was interrupted;
 * 0: none is wanted, or lost (counted). `in_kernel`: in its own, a trap's say, not in what has
 * interrupted the user's.
 */
static __always_inline __u64 user_stack_capture(void *ctx, struct abi_proc *proc, __u32 slot,
						bool in_kernel)
{
	if (!knob_max_stack)
		return 0;
	if (!has_user_code())
		return ABI_STACK_NO_CODE;
	return event_stack_capture(ctx, proc, slot,
				   in_kernel ? EVENT_IN_KERNEL : EVENT_INTERRUPTED);
}

/* Of the system call that is in the kernel, without the function that made it. */
static __always_inline __u64 caller_stack_capture(void *ctx, struct abi_proc *proc, __u32 slot)
{
	return knob_max_stack ? event_stack_capture(ctx, proc, slot, EVENT_CALLER) : 0;
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
