// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions before which a process is to be looked at: one that the user has named, or the C
 * library's execve. Its thread is marked by the signal that target/hold takes, before the function
 * runs.
 */
#include "abi_event.h"
#include "hold.bpf.h"
#include "kernel_stack.bpf.h"
#include "knobs.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"
#include "thread.bpf.h"

SEC("uprobe")
int on_checkpoint(struct pt_regs *ctx)
{
	struct abi_ev_checkpoint ev = { .head.type = ABI_EV_CHECKPOINT };
	struct abi_proc *proc;
	__u64 cookie;

	keep_kernel_stack(ctx);
	cookie = attach_cookie(ctx);
	proc = counted_proc(ABI_COOKIE_OWNER(cookie), &ev.head.slot);
	/* the child of a vfork has no memory of its own to look at */
	if (!proc || proc->pid != current_tgid())
		return 0;
	ev.head.time_ns = bpf_ktime_get_ns();
	ev.tid = bpf_get_current_pid_tgid();
	ev.function = ABI_COOKIE_FN(cookie);
	if (!hold_thread())
		return 0;
	if (ring_send_now(&ev, sizeof(ev)))
		proc_lost(proc, ABI_LOST_RING_FULL);
	return 0;
}
