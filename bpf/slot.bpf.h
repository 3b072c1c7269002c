/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handing out slots to process images, and telling user space of it.
 */
#ifndef MEMTRACED_SLOT_BPF_H
#define MEMTRACED_SLOT_BPF_H

#include "process.bpf.h"
#include "process_event.bpf.h"

/* A fork, as seen by the parent: its child has its name, and one thread. */
static __always_inline void process_fork_event(__u32 slot, __u32 parent_slot, __u32 pid,
					       __u32 flags)
{
	struct abi_ev_process ev = {
		.head = { .type = ABI_EV_FORK, .slot = slot, .time_ns = bpf_ktime_get_ns() },
		.pid = pid,
		.tid = pid,
		.old_slot = parent_slot,
		.flags = flags,
	};

	bpf_get_current_comm(ev.comm, sizeof(ev.comm));
	if (ring_send_now(&ev, sizeof(ev)))
		count_loss(ABI_LOST_RING_FULL);
}

#ifdef OLD_KERNEL
/* Each failure means that another CPU has just taken that slot. */
static __always_inline __u32 slot_take(void)
{
	__u8 one = 1;
	__u32 slot;
	int i;

	for (i = 0; i < 8; i++) {
		slot = *(volatile __u32 *)&next_slot;
		if (bpf_map_update_elem(&slot_claims, &slot, &one, BPF_NOEXIST))
			continue;
		__sync_fetch_and_add(&next_slot, 1);
		return slot;
	}
	return ABI_NO_SLOT;
}
#else
static __always_inline __u32 slot_take(void)
{
	return __sync_fetch_and_add(&next_slot, 1);
}
#endif

/* A slot that was used before: the daemon has emptied it and given it its next image's number. */
static __always_inline struct abi_proc *slot_again(__u32 *ret_slot)
{
	__u32 slot;

	if (bpf_map_pop_elem(&free_slots, &slot))
		return NULL;
	*ret_slot = slot;
	return proc_by_slot(slot);
}

static __always_inline struct abi_proc *slot_new(__u32 *ret_slot)
{
	struct abi_proc *proc = slot_again(ret_slot);
	__u32 slot;

	if (!proc) {
		slot = slot_take();
		proc = slot < knob_max_procs ? proc_by_slot(slot) : NULL;
		*ret_slot = slot;
		if (proc)
			proc->image = slot;
		else
			count_loss(ABI_LOST_PROCESS);
	}
	if (proc && knob_sampled) {
		proc->least_sample = 0;
		proc->sample_interval = *(volatile __u32 *)&control.samples ? ABI_SAMPLE_IMAGE : 0;
	}
	return proc;
}

#endif
