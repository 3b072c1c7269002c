/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One system call among all that pass raw_syscalls:sys_enter and sys_exit. The call's own
 * tracepoint costs the others nothing, but from Linux 7.0 on its programs are preempted, and all of
 * perf's programs are then left out on that CPU (trace/kernel/preemption.h).
 */
#ifndef MEMTRACED_SYSCALL_FILTER_BPF_H
#define MEMTRACED_SYSCALL_FILTER_BPF_H

#include "old_kernel.bpf.h"
#include "registers.bpf.h"

/* Both tracepoints, and those of single calls, have the number here. */
#define SYSCALL_NUMBER_AT 8

static __always_inline bool is_syscall(const void *ctx, __s32 number)
{
	__u64 mode = 0;

	if (*(const volatile __s32 *)(ctx + SYSCALL_NUMBER_AT) != number)
		return false;
	bpf_probe_read_kernel(&mode, sizeof(mode), (void *)task_registers() + REGS_MODE);
	return !MODE_IS_32_BIT(mode);
}

#endif
