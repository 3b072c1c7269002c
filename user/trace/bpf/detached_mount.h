/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file system of the kernel's that is mounted nowhere and vanishes with its descriptor.
 */
#ifndef MEMTRACED_TRACE_BPF_DETACHED_MOUNT_H
#define MEMTRACED_TRACE_BPF_DETACHED_MOUNT_H

/* Its root ("tracefs", "bpf"): a descriptor, or negative errno (Linux 5.2). */
int detached_mount(const char *type);

#endif
