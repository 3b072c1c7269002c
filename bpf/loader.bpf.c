// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The function that dynamic linkers call for debuggers (r_debug.r_brk, <link.h>): before libraries
 * are mapped or unmapped, and when they have been, but none of their code has run.
 */
#include "code_watch.bpf.h"
#include "kernel_stack.bpf.h"

SEC("uprobe")
int on_loader(struct pt_regs *ctx)
{
	struct abi_proc *proc;
	__u32 slot;

	keep_kernel_stack(ctx);
	if (!code_is_watched())
		return 0;
	/* Whichever link it is of: the second finds nothing new. */
	slot = slot_of_pid(current_tgid());
	if (slot == ABI_NO_SLOT)
		return 0;
	proc = proc_by_slot(slot);
	if (proc && (proc->state == ABI_PROC_ACTIVE || proc->state == ABI_PROC_PENDING) &&
	    access_holds(slot))
		watch_code(proc, slot, true);
	return 0;
}
