/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of each system call: its name, from the headers of the system that this was built
 * on, and what it does with files and bytes. Constant data.
 */
#ifndef MEMTRACED_TRACE_KERNEL_SYSCALL_TABLE_H
#define MEMTRACED_TRACE_KERNEL_SYSCALL_TABLE_H

#include "bpf/abi_syscalls.h"

#include <stdint.h>

/* NULL for a number that the headers do not have. */
const char *syscall_table_name(int32_t number);

/* The number of the call that has tracepoints of this name ("newstat" is stat); -1: not known. */
int32_t syscall_table_number(const char *tracepoint);

/* All zero for those of which nothing need be known. */
struct abi_syscall_op syscall_table_op(uint32_t number);

#endif
