/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a name occurs in the kernel's types. Only the strings are read and searched, in 1 to 2
 * ms: to parse all of the 65,000 types for one name takes libbpf 4 to 13, at each start.
 */
#ifndef MEMTRACED_TRACE_KERNEL_KERNEL_BTF_H
#define MEMTRACED_TRACE_KERNEL_KERNEL_BTF_H

#include <stdint.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/*
 * 1: the file's strings have `name`, of whatever it is the name; 0: not. Negative errno: -EINVAL
 * when the file is no BTF of this machine's byte order, or its strings lie outside of it.
 */
int btf_file_has(const char *path, const char *name);

/*
 * Where the kernel has bpf_preempt_disable() and bpf_preempt_enable(). libbpf would look for them
 * in all of the kernel's types at each load of an object that names them, in 20 ms: they are found
 * once a boot (boot_facts.h), and named by number (ABI_CALL_HOLD_CPU).
 */

struct hold_functions {
	int32_t disable, enable; /* ids in the kernel's BTF */
};

/* 0 or negative errno: -ENOENT when this kernel has not both of them. */
int hold_functions_find(struct hold_functions *ret_functions);

#endif
