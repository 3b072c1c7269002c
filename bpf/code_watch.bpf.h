/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that come and go, without a tracepoint of a system call: one makes all calls of all
 * processes go the slow way through the kernel's entry (redis-server's CPU time: 3.7 % more). What
 * is seen is that a process has another number of executable pages than before; which they are is
 * for user space to read.
 */
#ifndef MEMTRACED_CODE_WATCH_BPF_H
#define MEMTRACED_CODE_WATCH_BPF_H

#include "abi_event.h"
#include "hold.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"

#include <bpf/bpf_core_read.h>

/*
 * Pages of the current process's mappings that can be executed (mm_struct.exec_vm), without the one
 * that the kernel maps for the instructions that uprobes step over (create_xol_area()).
 */
static __always_inline __u64 executable_pages(void)
{
#ifdef OLD_KERNEL
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (!bpf_core_field_exists(mm->uprobes_state.xol_area))
		return BPF_CORE_READ(mm, exec_vm);
	return BPF_CORE_READ(mm, exec_vm) - !!BPF_CORE_READ(mm, uprobes_state.xol_area);
#else
	/* Loads without a helper; of a task without memory, as the kernel's are, they give 0. */
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;

	if (!bpf_core_field_exists(mm->uprobes_state.xol_area))
		return mm->exec_vm; /* a kernel without uprobes */
	return mm->exec_vm - !!mm->uprobes_state.xol_area;
#endif
}

/* Else tracepoints tell of mappings, and what is in the place of code_pages is theirs. */
static __always_inline bool code_is_watched(void)
{
	return *(volatile __u32 *)&control.watch_code;
}

/* Of code_pages: a sample has told of it, from inside of dlopen perhaps, without waiting. */
#define PAGES_BY_SAMPLE (1U << 31)

/*
 * From now on stacks hash to others than before: which code they are of is not known until user
 * space has read it.
 */
static __always_inline void begin_code_epoch(struct abi_proc *proc)
{
	__sync_fetch_and_add(&proc->code_epochs, 1);
	proc->code_epoch = ABI_WATCHED_EPOCH(proc->code_epochs);
}

/*
 * Of the current process. `by_loader`: none of the new code has run yet, and its thread can be held
 * until user space knows it.
 */
static __always_inline void watch_code(struct abi_proc *proc, __u32 slot, bool by_loader)
{
	struct abi_ev_code_changed ev = {
		.head = { .type = ABI_EV_CODE_CHANGED, .slot = slot },
		.tid = bpf_get_current_pid_tgid(),
		.by_loader = by_loader,
	};
	__u32 pages = executable_pages(), known = proc->code_pages;
	long failed;

	if (pages == (by_loader ? known : known & ~PAGES_BY_SAMPLE))
		return;
	ev.pages = pages;
	ev.before = known & ~PAGES_BY_SAMPLE;
	/* Before the number is known to others: their stacks are of the new code, too. */
	if (ev.pages != ev.before)
		begin_code_epoch(proc);
	proc->code_pages = by_loader ? pages : pages | PAGES_BY_SAMPLE;
	if (by_loader && control.hold)
		ev.held = hold_thread();
	ev.head.time_ns = bpf_ktime_get_ns();
	failed = by_loader ? ring_send_now(&ev, sizeof(ev)) : ring_send_later(&ev, sizeof(ev));
	if (failed) {
		/* the next event tells of it */
		proc->code_pages = known;
		proc_lost(proc, ABI_LOST_RING_FULL);
	}
}

#endif
