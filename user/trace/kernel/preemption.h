/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May the programs of a tracepoint be preempted? From Linux 7.0 on they are, where the kernel
 * is. A program that is being preempted is not run for the other threads of its CPU (the kernel's
 * guard against recursion is one count for each CPU): what they do is then lost. Programs on
 * tracepoints of perf cost more, but keep others off their CPU.
 */
#ifndef MEMTRACED_TRACE_KERNEL_PREEMPTION_H
#define MEMTRACED_TRACE_KERNEL_PREEMPTION_H

#include <stdbool.h>

struct abi_control;

struct preemption {
	bool raw; /* programs of raw tracepoints are preempted */
	/*
	 * Those that stand on single system calls, raw or of perf, are. Linux 7.2 lets those of
	 * perf fault (kernel/trace/bpf_trace.c: trace_call_bpf_faultable), so that they are
	 * preempted also where raw ones are not: by kernels without preemptible RCU.
	 */
	bool syscalls;
};

/*
 * Found out by attaching bpf/preemption.bpf.c to tracepoints that prctl(PR_SET_NAME) passes, once
 * in a boot (boot_facts.h). Where it cannot be attached, nothing is preempted.
 */
void preemption_find(int prog_fd, volatile struct abi_control *control,
		     struct preemption *ret_preemption);

#endif
