// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * May programs of raw tracepoints be preempted on this kernel? trace/kernel/preemption.h asks.
 *
 * Before Linux 7.0 the tracepoint disabled preemption. Since then the kernel only keeps the thread
 * on its CPU, and only where it can be preempted at all (kernel/trace/bpf_trace.c: __bpf_trace_run
 * has rcu_read_lock_dont_migrate), which the thread's task says.
 */
#include "knobs.bpf.h"

#include <bpf/bpf_core_read.h>

struct task_struct___migration {
	unsigned short migration_disabled;
} __attribute__((preserve_access_index));

SEC("raw_tracepoint")
int on_any_raw(void *ctx)
{
	struct task_struct___migration *task = (void *)bpf_get_current_task();

	(void)ctx; /* it stands on several tracepoints */
	if ((__u32)bpf_get_current_pid_tgid() != control.preemption_tid)
		return 0;
	if (bpf_core_field_exists(task->migration_disabled) &&
	    BPF_CORE_READ(task, migration_disabled))
		control.preemption = ABI_PREEMPTION_YES;
	else
		control.preemption = ABI_PREEMPTION_NO;
	return 0;
}
