/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Return addresses as the program wrote them. A return probe, ours or another tool's, puts the
 * address of the kernel's trampoline in their place; the true one is in the task's list of return
 * instances, under the stack slot (kernel/events/uprobes.c: prepare_uretprobe).
 */
#ifndef MEMTRACED_RETURN_ADDRESS_BPF_H
#define MEMTRACED_RETURN_ADDRESS_BPF_H

#include "abi.h"
#include "old_kernel.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Probed calls that may be nested inside each other above the slot: calloc in a wrapper, say. */
#define MAX_RETURN_INSTANCES 8

/* The return address at [sp]; 0 when it cannot be read. */
VERIFIED_ONCE __u64 return_address(__u64 sp)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *ri = BPF_CORE_READ(task, utask, return_instances);
	__u64 address = 0;
	int i;

	for (i = 0; i < MAX_RETURN_INSTANCES; i++) {
		if (!ri)
			break;
		if (BPF_CORE_READ(ri, stack) == sp)
			return BPF_CORE_READ(ri, orig_ret_vaddr);
		ri = BPF_CORE_READ(ri, next);
	}
	if (bpf_probe_read_user(&address, sizeof(address), (void *)sp))
		return 0;
	return address;
}

#endif
