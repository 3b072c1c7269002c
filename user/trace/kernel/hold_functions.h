/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the kernel has bpf_preempt_disable() and bpf_preempt_enable(). libbpf would look for them
 * in all of the kernel's types at each load of an object that names them, in 20 ms: they are found
 * once a boot (boot_facts.h), and named by number (ABI_CALL_HOLD_CPU).
 */
#ifndef MEMTRACED_TRACE_KERNEL_HOLD_FUNCTIONS_H
#define MEMTRACED_TRACE_KERNEL_HOLD_FUNCTIONS_H

#include <stdint.h>

struct hold_functions {
	int32_t disable, enable; /* ids in the kernel's BTF */
};

/* 0 or negative errno: -ENOENT when this kernel has not both of them. */
int hold_functions_find(struct hold_functions *ret_functions);

#endif
