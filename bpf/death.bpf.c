// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sender of a SIGKILL to a traced process, and what the OOM killer chooses. What a process is
 * killed for by its own doing is in bpf/fault.bpf.c.
 *
 * Raw tracepoints on all kernels: both are called with a spinlock held (sighand->siglock in
 * kernel/signal.c, task_lock in mm/oom_kill.c), so that they are not preempted.
 */
#include "death.bpf.h"
#include "registers.bpf.h"

enum { KILL = 9 };

/* include/trace/events/signal.h */
#define TRACE_SIGNAL_DELIVERED 0

/* include/linux/sched/signal.h: no siginfo, from a process or from the kernel */
#define SEND_SIG_NOINFO 0
#define SEND_SIG_PRIV 1

/* include/uapi/asm-generic/siginfo.h: what processes send has codes of 0 and less. */
#define SI_KERNEL 0x80

static __always_inline int code_of(__u64 info)
{
	struct kernel_siginfo *siginfo = (void *)info;

	if (info == SEND_SIG_NOINFO)
		return 0;
	return info == SEND_SIG_PRIV ? SI_KERNEL : BPF_CORE_READ(siginfo, si_code);
}

/* int sig, struct kernel_siginfo *info, struct task_struct *task, int group, int result */
SEC("raw_tracepoint")
int on_kill(struct bpf_raw_tracepoint_args *ctx)
{
	struct abi_ev_death *ev;
	int code;

	if ((int)ctx->args[0] != KILL || (int)ctx->args[4] != TRACE_SIGNAL_DELIVERED)
		return 0;
	code = code_of(ctx->args[1]);
	ev = death_begin((void *)ctx->args[2], KILL, code);
	if (!ev)
		return 0;
	if (code > 0) {
		ev->known |= ABI_DEATH_BY_KERNEL;
	} else {
		ev->known |= ABI_DEATH_BY_PROCESS;
		read_sender(ev);
	}
	bpf_ringbuf_submit(ev, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/*
 * What the OOM killer works on, on its caller's stack, and who that is. out_of_memory() runs under
 * oom_lock, so that there is one at a time.
 */
__weak struct {
	__u64 control;
	__u64 tid;
} oom SEC(".data.oom");

SEC("kprobe")
int on_oom(struct pt_regs *ctx)
{
	oom.control = PT_REGS_PARM1(ctx);
	oom.tid = (__u32)bpf_get_current_pid_tgid();
	return 0;
}

static __always_inline void read_oom_control(struct abi_ev_death *ev)
{
	struct oom_control *control = (void *)oom.control;
	struct mem_cgroup *memcg;

	if (!control || oom.tid != (__u32)bpf_get_current_pid_tgid())
		return;
	ev->known |= ABI_DEATH_OOM_CONTROL;
	ev->oom_constraint = BPF_CORE_READ(control, constraint);
	if (!bpf_core_field_exists(struct oom_control, memcg))
		return;
	memcg = BPF_CORE_READ(control, memcg);
	if (!memcg)
		return;
	ev->known |= ABI_DEATH_OOM_CGROUP;
	ev->oom_level = BPF_CORE_READ(memcg, css.cgroup, level);
	read_counter(&ev->oom_limit, memcg);
}

/* The trace event as it was before Linux 6.9, and what it has got since. */
struct trace_event_raw_mark_victim___task {
	__u32 uid;
} __attribute__((preserve_access_index));

/*
 * oom:mark_victim's first argument is the victim: a task since 6.9, when the event got its uid, its
 * pid before, of whose task there is no way to ask: its memory was said with its SIGKILL, which
 * comes first (__oom_kill_process).
 */
SEC("raw_tracepoint")
int on_oom_victim(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *victim = (void *)ctx->args[0];
	__u32 pid = ctx->args[0], slot;
	struct abi_ev_death *ev;

	if (bpf_core_field_exists(struct trace_event_raw_mark_victim___task, uid))
		pid = BPF_CORE_READ(victim, tgid);
	slot = slot_of_pid(pid);
	if (slot == ABI_NO_SLOT)
		return 0;
	ev = death_event(slot, pid, KILL, SI_KERNEL);
	if (!ev) {
		count_loss(ABI_LOST_RING_FULL);
		return 0;
	}
	ev->known = ABI_DEATH_BY_OOM | ABI_DEATH_BY_KERNEL;
	read_oom_control(ev);
	bpf_ringbuf_submit(ev, BPF_RB_FORCE_WAKEUP);
	return 0;
}
