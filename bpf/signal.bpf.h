/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kills a process for what it did itself: seen when the signal is delivered, by the thread
 * that gets it, and when nothing handles it (get_signal in kernel/signal.c). A process without
 * such a signal does not pay for it. Of one that is handled inside an allocator call it is noted
 * where, for the guess of what that call has called (bpf/nesting.bpf.h).
 */
#ifndef MEMTRACED_SIGNAL_BPF_H
#define MEMTRACED_SIGNAL_BPF_H

#include "abi_event.h"
#include "death.bpf.h"
#include "event_stack.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"
#include "thread.bpf.h"

#include <bpf/bpf_core_read.h>

/* include/uapi/asm-generic/signal.h */
enum { ILL = 4, ABRT = 6, BUS = 7, FPE = 8, SEGV = 11 };

#define SI_KERNEL 0x80 /* include/uapi/asm-generic/siginfo.h */

/* Is the signal about an address? Others' are not, nor is SI_KERNEL (a non-canonical one). */
static __always_inline bool has_address(int sig, int code)
{
	return sig != ABRT && code > 0 && code != SI_KERNEL;
}

/* The memory that was touched, or the instruction. */
static __always_inline __u64 fault_address(int sig)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct user_registers regs;

	if (sig == SEGV || sig == BUS)
		return FAULT_ADDRESS(task);
	return read_user_registers(task_registers(), &regs) ? regs.pc : 0;
}

static __always_inline void handled_inside(struct alloc_call *call, __u64 sp)
{
	__u64 below = call->sp - sp;

	if (below >= NESTING_RANGE)
		return;
	below = CALL_SIGNAL_BELOW(below);
	if (!call->signal_below || below < call->signal_below)
		call->signal_below = below;
}

VERIFIED_ONCE_NUMBERS int handled_inside_suspended(__u32 place, __u64 sp)
{
	struct alloc_call *call = suspended_call(place);

	if (call)
		handled_inside(call, sp);
	return 0;
}

/* The program handles the signal: the handler begins below what it interrupts. */
static __always_inline void handled(void)
{
	struct thread *t = thread_find();
	struct user_registers regs;
	int i;

	if (!t || (!t->busy && !t->suspended) || !read_user_registers(task_registers(), &regs))
		return;
	if (t->busy)
		handled_inside(&t->call, regs.sp);
	for (i = 0; i < SUSPENDED_CALLS; i++)
		if (t->suspended_sp[i])
			handled_inside_suspended(i, regs.sp);
}

static __always_inline void tell_death(int sig, int code)
{
	struct abi_ev_death *ev = death_begin((void *)bpf_get_current_task(), sig, code);

	if (ev)
		bpf_ringbuf_submit(ev, BPF_RB_FORCE_WAKEUP);
}

static __always_inline int delivered(void *ctx, int sig, int code, bool by_default)
{
	struct abi_ev_fault ev = { .head.type = ABI_EV_FAULT };
	struct abi_proc *proc;

	if (!by_default)
		handled();
	if (!by_default || (sig != SEGV && sig != BUS && sig != ABRT && sig != ILL && sig != FPE))
		return 0;
	ev.head.slot = slot_of_pid(current_tgid());
	proc = ev.head.slot == ABI_NO_SLOT ? NULL : proc_by_slot(ev.head.slot);
	/* A vfork child is not the process whose memory it has. */
	if (!proc || proc->state != ABI_PROC_ACTIVE || proc->pid != current_tgid() ||
	    !access_holds(ev.head.slot))
		return 0;
	ev.head.time_ns = bpf_ktime_get_ns();
	ev.tid = bpf_get_current_pid_tgid();
	ev.signal = sig;
	ev.code = code;
	ev.has_addr = has_address(sig, code);
	ev.addr = ev.has_addr ? fault_address(sig) : 0;
	ev.stack = user_stack_capture(ctx, proc, ev.head.slot, true);
	if (ring_send_now(&ev, sizeof(ev)))
		proc_lost(proc, ABI_LOST_RING_FULL);
	tell_death(sig, code);
	return 0;
}

/* By perf's tracepoint. A system call's context (on_exit_mmap) ends where sa_handler begins. */
static __always_inline int signal_delivered(struct trace_event_raw_signal_deliver *ctx)
{
	return delivered(ctx, ctx->sig, ctx->code, !BPF_CORE_READ(ctx, sa_handler));
}

#endif
