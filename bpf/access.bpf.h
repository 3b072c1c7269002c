/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May the user who asked for this trace look at the current process? Asked at each event, before it
 * is counted, and at each exec, so that a process that executes a set-user-ID program or hides
 * itself is counted until then: its image ends. Without a user (knob_access.limited) nothing is
 * asked.
 *
 * The rule is that of PTRACE_MODE_READ_FSCREDS, for a caller without capabilities in the first user
 * namespace: __ptrace_may_access() in kernel/ptrace.c, cap_ptrace_access_check() and cap_capable()
 * in security/commoncap.c. user/target/process_access.h has it for user space. Stricter here: a
 * process that is not dumpable is refused in all namespaces.
 */
#ifndef MEMTRACED_ACCESS_BPF_H
#define MEMTRACED_ACCESS_BPF_H

#include "knobs.bpf.h"
#include "process_event.bpf.h"

#include <bpf/bpf_core_read.h>

/* include/linux/sched/coredump.h */
enum {
	MMF_DUMPABLE_MASK = 3,
	SUID_DUMP_USER = 1,
};

/* User namespaces are nested so deep at most: kernel/user_namespace.c. */
#define MOST_NAMESPACES 33

static __always_inline bool is_dumpable(struct mm_struct *mm)
{
	struct mm_struct___word *word = (void *)mm;
	struct mm_struct___bitmap *bitmap = (void *)mm;
	unsigned long flags = 0;

	if (bpf_core_field_exists(word->flags))
		flags = BPF_CORE_READ(word, flags);
	else if (bpf_core_field_exists(bitmap->flags))
		flags = BPF_CORE_READ(bitmap, flags.__mm_flags[0]);
	return (flags & MMF_DUMPABLE_MASK) == SUID_DUMP_USER;
}

/* Is it below the first one, and did the user make it, or one around it that is below the first? */
static __always_inline bool owns_namespace(struct user_namespace *ns)
{
	struct user_namespace *parent;
	int i;

	for (i = 0; i < MOST_NAMESPACES; i++) {
		parent = BPF_CORE_READ(ns, parent);
		if (!parent)
			return false;
		if (!BPF_CORE_READ(parent, parent))
			return BPF_CORE_READ(ns, owner.val) == knob_access.uid;
		ns = parent;
	}
	return false;
}

/* Of the first namespace: none may be permitted, as the user has none. */
static __always_inline bool may_see_capabilities(const struct cred *cred)
{
	struct user_namespace *ns = BPF_CORE_READ(cred, user_ns);
	__u64 permitted = ~0ULL;

	if (BPF_CORE_READ(ns, parent))
		return owns_namespace(ns);
	BPF_CORE_READ_INTO(&permitted, cred, cap_permitted);
	return permitted == 0;
}

/* 1: the current process may be looked at. */
VERIFIED_ONCE_NUMBERS int access_is_allowed(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	const struct cred *cred = BPF_CORE_READ(task, real_cred);
	const __u32 uid = knob_access.uid, gid = knob_access.gid;

	return BPF_CORE_READ(cred, euid.val) == uid && BPF_CORE_READ(cred, suid.val) == uid &&
	       BPF_CORE_READ(cred, uid.val) == uid && BPF_CORE_READ(cred, egid.val) == gid &&
	       BPF_CORE_READ(cred, sgid.val) == gid && BPF_CORE_READ(cred, gid.val) == gid &&
	       is_dumpable(BPF_CORE_READ(task, mm)) && may_see_capabilities(cred);
}

/* The image is over for who asked: nothing of the process is counted any more. */
VERIFIED_ONCE_NUMBERS int access_end(__u32 slot)
{
	struct abi_proc *proc = bpf_map_lookup_elem(&procs, &slot);
	__u32 pid;

	if (!proc)
		return 0;
	pid = proc->pid;
	proc->state = ABI_PROC_ENDED;
	/* Two threads may both see it: the one that deletes the pid reports. */
	if (bpf_map_delete_elem(&pids, &pid))
		return 0;
	__sync_fetch_and_add(&control.ends, 1);
	process_event(ABI_EV_EXIT, slot, slot, pid, ABI_PROCESS_LAST | ABI_PROCESS_HIDDEN, 0,
		      (void *)bpf_get_current_task());
	return 0;
}

/* Before an event of the current process is counted. */
static __always_inline bool access_holds(__u32 slot)
{
	if (!knob_access.limited || access_is_allowed())
		return true;
	access_end(slot);
	return false;
}

#endif
