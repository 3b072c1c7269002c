/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filter of the jobs: is the current process one whose system calls and tracepoints are counted?
 */
#ifndef MEMTRACED_TARGET_BPF_H
#define MEMTRACED_TARGET_BPF_H

#include "abi_event.h"
#include "slot.bpf.h"

#include <bpf/bpf_core_read.h>

static __always_inline __u32 parent_tgid(void)
{
#ifdef OLD_KERNEL
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, real_parent, tgid);
#else
	/* Typed pointers: loads instead of calls of helpers. */
	return bpf_get_current_task_btf()->real_parent->tgid;
#endif
}

/*
 * The current process is the daemon's, its keeper, or a worker, which is a child of the keeper and
 * ends with it (user/sandbox/keeper.h); or of the other such family (user/target/file_helper.h).
 */
static __always_inline bool is_own(__u32 tgid)
{
	__u32 keeper = *(volatile __u32 *)&control.keeper;
	__u32 opener = *(volatile __u32 *)&control.opener;
	__u32 parent;

	if (tgid == knob_self)
		return true;
	if (!keeper && !opener)
		return false;
	parent = parent_tgid();
	return (keeper && (tgid == keeper || parent == keeper)) ||
	       (opener && (tgid == opener || parent == opener));
}

/* `scope`: the host or the cgroup. */
static __always_inline bool in_scope(__u32 scope, __u32 tgid)
{
	if (scope == ABI_SCOPE_HOST)
		return !is_own(tgid);
	return bpf_current_task_under_cgroup(&cgroups, 0) == 1;
}

/*
 * The process that each CPU counted last, for as long as no traced image has ended:
 * abi_control.ends << 32 | 1 << 31 | thread group; 0: none yet. The map of pids costs much more.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counted_last SEC(".maps") __weak;

static __always_inline bool in_processes(__u32 tgid)
{
	__u64 ends = *(volatile __u32 *)&control.ends, now = ends << 32 | 1U << 31 | tgid;
	__u32 first = 0, slot;
	__u64 *last = bpf_map_lookup_elem(&counted_last, &first);
	struct abi_proc *proc;

	/* Access may end with any event. */
	if (last && *last == now && !knob_access.limited)
		return true;
	slot = slot_of_pid(tgid);
	if (slot == ABI_NO_SLOT)
		return false;
	proc = proc_by_slot(slot);
	if (!proc || proc->state != ABI_PROC_ACTIVE || !access_holds(slot))
		return false;
	if (last)
		*last = now;
	return true;
}

/* For counts that need no slot. */
static __always_inline bool in_target(void)
{
	__u32 tgid = current_tgid();

	return knob_scope == ABI_SCOPE_PROCESSES ? in_processes(tgid) : in_scope(knob_scope, tgid);
}

/* A process of the host or cgroup that was not seen before gets a slot. */
static __always_inline struct abi_proc *proc_adopt(__u32 tgid, __u32 *ret_slot)
{
	struct abi_proc *proc = slot_new(ret_slot);

	if (!proc)
		return NULL;
	proc->pid = tgid;
	proc->parent = ABI_NO_SLOT;
	proc->state = ABI_PROC_ACTIVE;
	if (bpf_map_update_elem(&pids, &tgid, ret_slot, BPF_NOEXIST)) {
		/* another of its threads was first, or there is no room */
		proc->state = ABI_PROC_FREE;
		bpf_map_push_elem(&free_slots, ret_slot, 0);
		*ret_slot = slot_of_pid(tgid);
		if (*ret_slot != ABI_NO_SLOT)
			return proc_by_slot(*ret_slot);
		count_loss(ABI_LOST_PROCESS);
		return NULL;
	}
	process_event(ABI_EV_SEEN, *ret_slot, ABI_NO_SLOT, tgid, 0, 0,
		      (void *)bpf_get_current_task());
	return proc;
}

/* The current process and its slot, or NULL. */
static __always_inline struct abi_proc *target_proc(__u32 *ret_slot)
{
	__u32 tgid = current_tgid(), slot = slot_of_pid(tgid);
	struct abi_proc *proc;

	if (slot != ABI_NO_SLOT) {
		proc = proc_by_slot(slot);
		*ret_slot = slot;
		return proc && proc->state == ABI_PROC_ACTIVE && access_holds(slot) ? proc : NULL;
	}
	if (knob_scope == ABI_SCOPE_PROCESSES || !in_scope(knob_scope, tgid))
		return NULL;
	return proc_adopt(tgid, ret_slot);
}

#endif
