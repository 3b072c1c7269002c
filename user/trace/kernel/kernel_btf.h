/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a name occurs in the kernel's types. Only the strings are read and searched, in 1 to 2
 * ms: to parse all of the 65,000 types for one name takes libbpf 4 to 13, at each start.
 */
#ifndef MEMTRACED_TRACE_KERNEL_KERNEL_BTF_H
#define MEMTRACED_TRACE_KERNEL_KERNEL_BTF_H

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/*
 * 1: the file's strings have `name`, of whatever it is the name; 0: not. Negative errno: -EINVAL
 * when the file is no BTF of this machine's byte order, or its strings lie outside of it.
 */
int btf_file_has(const char *path, const char *name);

#endif
