/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which images are counted: those of the host or cgroup, of a user, with a name. It is asked when
 * an image begins, and costs a process that is counted nothing later. Jobs do without it
 * (target.bpf.h): where there is a rule they count what has a slot.
 */
#ifndef MEMTRACED_WANTED_BPF_H
#define MEMTRACED_WANTED_BPF_H

#include "target.bpf.h"

#include <bpf/bpf_core_read.h>

__weak const volatile bool knob_of_uid;
__weak const volatile __u32 knob_uid;
__weak const volatile bool knob_of_name;
__weak const volatile struct abi_names knob_names;

/* Threads have names of their own: the process's is that of its first one. */
static __always_inline bool name_is_wanted(struct task_struct *task)
{
	__u64 state = knob_names.first;
	char comm[16] = {};
	int i;

	BPF_CORE_READ_INTO(&comm, task, group_leader, comm);
	for (i = 0; i < 15; i++) {
		if (!comm[i])
			break;
		state = abi_names_next(&knob_names, state, comm[i]);
	}
	return state & knob_names.last;
}

/* --uid and --comm, of the current process. Its real user, as the kernel's own namespace has it. */
static __always_inline bool matches_rule(void)
{
	if (knob_of_uid && (__u32)bpf_get_current_uid_gid() != knob_uid)
		return false;
	return !knob_of_name || name_is_wanted((void *)bpf_get_current_task());
}

/* Of a current process without a slot: is it to be counted from now on? */
static __always_inline bool is_newly_wanted(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (knob_scope == ABI_SCOPE_PROCESSES || !BPF_CORE_READ(task, mm))
		return false;
	return !is_own(current_tgid()) && in_scope(knob_scope, current_tgid()) && matches_rule();
}

/* The same of one with a slot, whose image has just begun. */
static __always_inline bool is_wanted(void)
{
	if (knob_scope == ABI_SCOPE_CGROUP && !in_scope(knob_scope, current_tgid()))
		return false;
	return matches_rule();
}

/*
 * The current process gets a slot if it is one of those that are counted and was not seen before:
 * it has come into the cgroup, or has changed its user or its name. Not inlined: its loop would be
 * verified with each way to it.
 */
static __attribute__((noinline)) __u32 adopt_newcomer(void)
{
	__u32 slot;

	if (!is_newly_wanted() || !proc_adopt(current_tgid(), &slot))
		return ABI_NO_SLOT;
	return slot;
}

/* Of a host or cgroup: a process that comes to be counted while it runs. */
static __always_inline struct abi_proc *newcomer(__u32 *ret_slot)
{
	if (slot_of_pid(current_tgid()) != ABI_NO_SLOT || adopt_newcomer() == ABI_NO_SLOT)
		return NULL;
	return counted_proc(0, ret_slot);
}

#endif
