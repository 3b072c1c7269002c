/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Telling user space what became of a process.
 */
#ifndef MEMTRACED_PROCESS_EVENT_BPF_H
#define MEMTRACED_PROCESS_EVENT_BPF_H

#include "abi_event.h"
#include "ring.bpf.h"
#include "rss.bpf.h"

#include <bpf/bpf_core_read.h>

/* Before Linux 6.16 a process that exits has given its address space back by then. */
static __always_inline void add_peak(struct abi_ev_process *ev, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (ev->head.type == ABI_EV_EXIT && mm) {
		ev->peak_pages = mm_peak_pages(mm);
		ev->flags |= ABI_PROCESS_OWN_PEAK;
	} else {
		ev->peak_pages = task_peak_pages(task);
	}
}

static __always_inline void process_event(__u32 type, __u32 slot, __u32 old_slot, __u32 pid,
					  __u32 flags, __u32 exit_code, struct task_struct *task)
{
	struct abi_ev_process ev = {
		.head = { .type = type, .slot = slot, .time_ns = bpf_ktime_get_ns() },
		.pid = pid,
		.old_slot = old_slot,
		.flags = flags,
		.exit_code = exit_code,
	};

	/* What may not be looked at has grown since it was allowed: that is not told. */
	if (!(flags & ABI_PROCESS_HIDDEN))
		add_peak(&ev, task);
	bpf_probe_read_kernel(&ev.tid, sizeof(ev.tid), &task->pid);
	/* Not the thread's: which one of them ends last is chance. */
	BPF_CORE_READ_INTO(&ev.comm, task, group_leader, comm);
	if (ring_send_now(&ev, sizeof(ev)))
		count_loss(ABI_LOST_RING_FULL);
}

#endif
