// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fork, exec and exit of traced processes: slots are handed out here, so that no event of a new
 * process is attributed to another, and user space is told.
 *
 * Each has two programs, one for the raw tracepoint and one (_perf) for a tracepoint of perf. Raw
 * ones cost less; but where they can be preempted (trace/kernel/preemption.h), the kernel leaves
 * them out for all other threads of that CPU meanwhile. Those of perf are never preempted.
 */
#include "abi_event.h"
#include "account.bpf.h"
#include "code_watch.bpf.h"
#include "image.bpf.h"
#include "knobs.bpf.h"
#include "slot.bpf.h"
#include "space.bpf.h"
#include "thread.bpf.h"
#include "wanted.bpf.h"

#include <bpf/bpf_core_read.h>

/*
 * The image is over. It goes on to share its parent's blocks until user space has read its last
 * values (trace/live/cuts/live_cut.c), which are about what it held at its end.
 */
static __always_inline void proc_end(struct abi_proc *proc)
{
	proc->state = ABI_PROC_ENDED;
}

/* After the change: what bpf/target.bpf.h keeps of the process is no longer true. */
static __always_inline void process_forget(void)
{
	__sync_fetch_and_add(&control.ends, 1);
}

/* The parent's era from this fork on. */
static __always_inline __u32 next_era(struct abi_proc *parent)
{
#ifdef OLD_KERNEL
	__u32 before = *(volatile __u32 *)&parent->era;

	__sync_fetch_and_add(&parent->era, 1);
	/* Two threads that fork at once: who inherits what lies between cannot be told. */
	if (*(volatile __u32 *)&parent->era != before + 1)
		proc_lost(parent, ABI_LOST_TOMBSTONE);
	return *(volatile __u32 *)&parent->era;
#else
	return __sync_fetch_and_add(&parent->era, 1) + 1;
#endif
}

static __always_inline void child_new(struct abi_proc *parent, __u32 parent_slot, __u32 pid)
{
	struct abi_proc *proc;
	__u32 slot;

	proc = slot_new(&slot);
	if (!proc)
		return;
	proc->pid = pid;
	proc->owner = 0;
	proc->parent = parent_slot;
	proc->parent_era = next_era(parent);
	__sync_fetch_and_add(&parent->sharers, 1);
	proc->live_bytes = parent->live_bytes;
	proc->peak_bytes = proc->live_bytes;
	if (knob_sampled) {
		proc->sample_interval = proc_has_samples(parent) ? parent->sample_interval : 0;
		proc->least_sample = parent->least_sample;
	}
	proc->cut_epoch = control.cut_epoch;
	proc->code_epoch = parent->code_epoch;
	proc->last_file_map = parent->last_file_map; /* or what code_watch.bpf.h keeps */
	if (knob_unwind)
		space_fork(parent_slot, slot);
	if (parent->state == ABI_PROC_UNWANTED)
		proc->state = ABI_PROC_UNWANTED;
	else
		proc->state = control.shared ? ABI_PROC_ACTIVE : ABI_PROC_PENDING;
	if (bpf_map_update_elem(&pids, &pid, &slot, BPF_ANY)) {
		proc_end(proc);
		__sync_fetch_and_add(&parent->sharers, -1);
		count_loss(ABI_LOST_PROCESS);
		return;
	}
	process_fork_event(slot, parent_slot, pid, 0);
}

/* The current process has made another one. */
static __always_inline void forked(__u32 pid, bool shares_mm)
{
	__u32 slot = slot_of_pid(current_tgid());
	struct abi_proc *proc;

	/* So that a child is never known without its parent, whose blocks it has. */
	if (slot == ABI_NO_SLOT && knob_scope != ABI_SCOPE_PROCESSES)
		slot = adopt_newcomer();
	if (slot == ABI_NO_SLOT)
		return;
	proc = proc_by_slot(slot);
	if (!proc || proc->state == ABI_PROC_ENDED)
		return;
	if (!shares_mm) {
		if (knob_follow)
			child_new(proc, slot, pid);
		return;
	}
	/* vfork, posix_spawn, clone(CLONE_VM): one address space, one process, followed or not */
	if (bpf_map_update_elem(&pids, &pid, &slot, BPF_ANY))
		count_loss(ABI_LOST_PROCESS);
	process_fork_event(slot, slot, pid, ABI_PROCESS_SHARES_MM);
}

SEC("raw_tracepoint")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 pid = BPF_CORE_READ(child, tgid);

	if (pid != current_tgid())
		forked(pid, BPF_CORE_READ(child, mm) == BPF_CORE_READ(parent, mm));
	return 0;
}

/* include/uapi/linux/sched.h */
enum {
	CLONE_VM = 0x100,
	CLONE_THREAD = 0x10000,
};

/* task:task_newtask, which says what sched_process_fork keeps to raw tracepoints. */
SEC("tracepoint")
int on_fork_perf(struct trace_event_raw_task_newtask *ctx)
{
	__u64 flags = ctx->clone_flags;

	if (!(flags & CLONE_THREAD))
		forked(ctx->pid, flags & CLONE_VM);
	return 0;
}

/* Is nothing lost of the executable, also if user space comes too late to look at it? */
static __always_inline __u32 executable_flags(struct task_struct *task)
{
	struct inode *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);
	struct abi_file_key key = {
		.ino = BPF_CORE_READ(inode, i_ino),
		.dev = BPF_CORE_READ(inode, i_sb, s_dev),
	};
	struct abi_file *file = bpf_map_lookup_elem(&files, &key);

	if (!file || file->verdict == ABI_FILE_ALLOCATOR)
		return 0;
	return ABI_PROCESS_KNOWN_FILE | (file->verdict == ABI_FILE_ALONE ? ABI_PROCESS_ALONE : 0);
}

/* The image of a process that had none, or whose old one is over; NULL: there is no room. */
static __always_inline struct abi_proc *image_new(__u32 pid, bool wanted, __u32 *ret_slot)
{
	struct abi_proc *proc = slot_new(ret_slot);

	if (!proc)
		return NULL;
	proc->pid = pid;
	proc->owner = 0;
	proc->parent = ABI_NO_SLOT;
	proc->cut_epoch = control.cut_epoch;
	/* Which these are the daemon reads at the exec's event. */
	if (code_is_watched())
		proc->code_pages = executable_pages();
	if (knob_unwind)
		space_new(*ret_slot);
	if (!wanted)
		proc->state = ABI_PROC_UNWANTED;
	else
		proc->state = control.shared ? ABI_PROC_ACTIVE : ABI_PROC_PENDING;
	if (bpf_map_update_elem(&pids, &pid, ret_slot, BPF_ANY)) {
		/* The daemon is not told of it: the slot is free again. */
		proc->state = ABI_PROC_FREE;
		bpf_map_push_elem(&free_slots, ret_slot, 0);
		*ret_slot = ABI_NO_SLOT;
		count_loss(ABI_LOST_PROCESS);
		return NULL;
	}
	return proc;
}

/* The flags of the event that tells of the new image: which of its code is noted already. */
static __always_inline __u32 image_code(__u32 slot)
{
	return knob_unwind ? image_add_code(slot) << ABI_PROCESS_NOTED_SHIFT : 0;
}

/* No link counts for this process any more. */
static __always_inline int image_none(__u32 pid)
{
	bpf_map_delete_elem(&pids, &pid);
	process_forget();
	return 0;
}

/* User space has launched it, and this is the command that it is to become. */
static __always_inline bool is_launched(const struct abi_proc *old)
{
	return old->state == ABI_PROC_PENDING && old->parent == ABI_NO_SLOT;
}

/*
 * `wanted`: by the rule. What is started by those that user space named is followed in any case,
 * but for a program that who asked may not look at. The kernel has given the process its new rights
 * by now (begin_new_exec() in fs/exec.c).
 */
static __always_inline int image_replaced(struct task_struct *task, __u32 pid, __u32 old_slot,
					  bool wanted)
{
	bool keeps = (wanted || knob_scope == ABI_SCOPE_PROCESSES) &&
		     (!knob_access.limited || access_is_allowed());
	struct abi_proc *old = proc_by_slot(old_slot);
	__u32 slot = ABI_NO_SLOT, flags = 0;

	if (!old)
		return 0;
	if (knob_no_exec && !is_launched(old))
		keeps = false;
	/* A vfork child leaves its parent's address space, which goes on. */
	if (old->pid != pid)
		flags = ABI_PROCESS_SHARES_MM;
	else
		proc_end(old);
	if (!keeps || (flags && !knob_follow) || !image_new(pid, wanted, &slot)) {
		/* The old one's end, or that it was left, is to be known all the same. */
		process_event(ABI_EV_EXEC, ABI_NO_SLOT, old_slot, pid, flags, 0, task);
		return image_none(pid);
	}
	flags |= image_code(slot);
	process_forget();
	if (!wanted)
		flags |= ABI_PROCESS_UNWANTED;
	process_event(ABI_EV_EXEC, slot, old_slot, pid, flags | executable_flags(task), 0, task);
	return 0;
}

/* old_tid: the thread that executes had it; it has its leader's from now on. */
static __always_inline int executed(struct task_struct *task, __u32 old_tid)
{
	__u32 pid = BPF_CORE_READ(task, tgid), old_slot = slot_of_pid(pid), slot;

	if (old_slot != ABI_NO_SLOT) {
		/* The end of the new image's thread may not be seen, and is not of this number. */
		thread_drop(old_tid);
		return image_replaced(task, pid, old_slot, is_wanted());
	}
	if (is_newly_wanted() && image_new(pid, true, &slot))
		process_event(ABI_EV_EXEC, slot, ABI_NO_SLOT, pid,
			      image_code(slot) | executable_flags(task), 0, task);
	return 0;
}

SEC("raw_tracepoint")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	return executed((void *)ctx->args[0], ctx->args[1]);
}

SEC("tracepoint")
int on_exec_perf(struct trace_event_raw_sched_process_exec *ctx)
{
	return executed((void *)bpf_get_current_task(), ctx->old_pid);
}

/* From Linux 5.17 on, and before: the thread for whose exec all others end. */
struct signal_struct___exec {
	struct task_struct *group_exec_task;
} __attribute__((preserve_access_index));
struct signal_struct___exit {
	struct task_struct *group_exit_task;
} __attribute__((preserve_access_index));

/* SIGNAL_GROUP_EXIT and, before Linux 5.17, SIGNAL_GROUP_COREDUMP (include/linux/sched/signal.h) */
#define ALL_END (0x4 | 0x8)

/* Does this thread end by itself, not with all others, nor for an exec of another one? */
static __always_inline bool ends_alone(struct task_struct *task)
{
	struct signal_struct *sig = BPF_CORE_READ(task, signal);
	struct signal_struct___exec *exec = (void *)sig;
	struct signal_struct___exit *exit = (void *)sig;

	if (BPF_CORE_READ(sig, flags) & ALL_END)
		return false;
	if (bpf_core_field_exists(exec->group_exec_task))
		return !BPF_CORE_READ(exec, group_exec_task);
	return !BPF_CORE_READ(exit, group_exit_task);
}

static __always_inline int exited(struct task_struct *task, bool counts_calls)
{
	__u32 pid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);
	__u32 slot = slot_of_pid(pid), code, flags = ABI_PROCESS_SHARES_MM;
	struct abi_proc *proc;

	if (slot == ABI_NO_SLOT) {
		/* What may not be looked at any more has no slot, but its threads are known. */
		if (knob_access.limited)
			thread_drop(tid);
		return 0;
	}
	if (counts_calls && knob_regions)
		thread_ends_calls(slot);
	thread_drop(tid);
	proc = proc_by_slot(slot);
	if (BPF_CORE_READ(task, signal, live.counter)) {
		if (tid == pid && proc && proc->pid == pid && proc->owner && ends_alone(task))
			process_event(ABI_EV_FIRST_ENDED, slot, slot, pid, 0, 0, task);
		return 0;
	}
	/* Two last threads may both see 0: the one that deletes the pid reports. */
	if (bpf_map_delete_elem(&pids, &pid))
		return 0;
	process_forget();
	if (!proc)
		return 0;
	code = BPF_CORE_READ(task, signal, group_exit_code);
	if (!code)
		code = BPF_CORE_READ(task, group_leader, exit_code);
	if (proc->pid == pid) {
		flags = ABI_PROCESS_LAST;
		proc_end(proc);
	}
	process_event(ABI_EV_EXIT, slot, slot, pid, flags, code, task);
	return 0;
}

SEC("raw_tracepoint")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return exited((void *)ctx->args[0], true);
}

SEC("tracepoint")
int on_exit_perf(void *ctx)
{
	(void)ctx; /* sched:sched_process_exit is of the current task */
	return exited((void *)bpf_get_current_task(), true);
}

/*
 * As long as no call of an allocator is counted, which takes tables and more to verify: they are
 * loaded when a process needs them (programs_load_calls). Where an exit passes both, there is
 * nothing left for the second one.
 */
SEC("raw_tracepoint")
int on_exit_plain(struct bpf_raw_tracepoint_args *ctx)
{
	return control.calls ? 0 : exited((void *)ctx->args[0], false);
}

SEC("tracepoint")
int on_exit_plain_perf(void *ctx)
{
	(void)ctx; /* as above */
	return control.calls ? 0 : exited((void *)bpf_get_current_task(), false);
}
