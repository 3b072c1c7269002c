/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether BPF programs can sample what CPUs run.
 */
#ifndef MEMTRACED_TRACE_KERNEL_SAMPLING_H
#define MEMTRACED_TRACE_KERNEL_SAMPLING_H

/*
 * Tried by a program on a clock that looks at a hash map which grows, as ours all do: before Linux
 * 6.1 such programs are refused (check_map_prog_compatibility in kernel/bpf/verifier.c). 0 or
 * negative errno.
 */
int sampling_try(void);

#endif
