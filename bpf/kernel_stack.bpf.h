/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From Linux 6.13 on, a program that needs 64 bytes of stack gets one of its own for each CPU, on
 * the ground that it never runs twice at a time there. That is wrong for uprobes: they can be
 * preempted, and another task's hit on the same CPU then overwrites what the first has on its
 * stack (Linux 7.2 with preemption: a panic within seconds, eight threads on one CPU).
 *
 * A program that holds a tail call keeps the kernel's stack, even when the call is never reached:
 * the verifier looks for it in all instructions, before it drops the dead ones (check_subprogs,
 * check_max_stack_depth in kernel/bpf/verifier.c).
 */
#ifndef MEMTRACED_KERNEL_STACK_BPF_H
#define MEMTRACED_KERNEL_STACK_BPF_H

#include "abi.h"

#include <bpf/bpf_helpers.h>

/* Always false, which the verifier knows and the compiler does not. */
__weak const volatile bool knob_never;

/* In the main function of each uprobe program. */
static __always_inline void keep_kernel_stack(void *ctx)
{
#ifndef OLD_KERNEL
	if (knob_never)
		bpf_tail_call(ctx, (void *)0, 0);
#endif
}

#endif
