/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handing out slots to process images, and telling user space of it.
 */
#ifndef MEMTRACED_SLOT_BPF_H
#define MEMTRACED_SLOT_BPF_H

#include "process.bpf.h"

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

	bpf_probe_read_kernel(&ev.tid, sizeof(ev.tid), &task->pid);
	bpf_probe_read_kernel(ev.comm, sizeof(ev.comm), &task->comm);
	if (bpf_ringbuf_output(&ring, &ev, sizeof(ev), BPF_RB_FORCE_WAKEUP))
		count_loss(ABI_LOST_RING_FULL);
}

static __always_inline struct abi_proc *slot_new(__u32 *ret_slot)
{
	__u32 slot = __sync_fetch_and_add(&next_slot, 1);
	struct abi_proc *proc = slot < knob_max_procs ? proc_by_slot(slot) : NULL;

	if (!proc)
		count_loss(ABI_LOST_PROCESS);
	*ret_slot = slot;
	return proc;
}

#endif
