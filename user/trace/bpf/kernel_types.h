/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's types that a BPF object names, kept until the next boot (kernel/boot_facts.h) as BTF
 * that libbpf takes instead of the kernel's own: of that it parses 5 MB at each load, and goes
 * through all of it for each type. A type is kept with what it holds by value; pointers are of no
 * type, since whatever they lead to is looked up by its own name.
 */
#ifndef MEMTRACED_TRACE_BPF_KERNEL_TYPES_H
#define MEMTRACED_TRACE_BPF_KERNEL_TYPES_H

#include "trace/kernel/old_kernel.h"

#include <stdio.h>

struct bpf_object;
struct btf;

/* A file with what was kept for the object, until it is loaded; negative errno: nothing was. */
int kernel_types_open(const char *object);
/* Keeps what the object needs for the next start. One that fails costs that start the time. */
void kernel_types_keep(const char *object, const struct bpf_object *needs);

/* Those of `kernel` that have the name and kind of one of `needs`. 0 or negative errno. */
int kernel_types_reduce(const struct btf *needs, const struct btf *kernel, struct btf **ret_btf);

/*
 * Defines open_object(types), which opens the skeleton for this kernel: a new one with what
 * kernel_types_open() gave, an old one as DEFINE_OPEN_OLD. NULL: errno says why.
 */
#define DEFINE_OPEN(name)                                                                          \
	DEFINE_OPEN_OLD(name)                                                                      \
                                                                                                   \
	static struct name##_bpf *open_object(int types_fd)                                        \
	{                                                                                          \
		LIBBPF_OPTS(bpf_object_open_opts, opts);                                           \
		struct name##_bpf *skel;                                                           \
		char path[32];                                                                     \
                                                                                                   \
		if (old_kernel())                                                                  \
			return open_old();                                                         \
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", types_fd); /* fits */       \
		opts.btf_custom_path = types_fd < 0 ? NULL : path;                                 \
		skel = name##_bpf__open_opts(&opts);                                               \
		if (skel && types_fd < 0)                                                          \
			kernel_types_keep(#name, skel->obj);                                       \
		return skel;                                                                       \
	}

#endif
