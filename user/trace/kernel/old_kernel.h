/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux 5.10 to 5.14: which of what the programs are built on is missing, the programs' second
 * build that does without (bpf/old_kernel.bpf.h), and what stands for a probe's cookie there: a
 * program of its own for each probe, which leaves the cookie and calls on.
 */
#ifndef MEMTRACED_TRACE_KERNEL_OLD_KERNEL_H
#define MEMTRACED_TRACE_KERNEL_OLD_KERNEL_H

#include "bpf/abi.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* 0, or why the running kernel lacks it: negative errno. */
int old_kernel_try_atomics(void); /* atomic operations that give a value: Linux 5.12 */
int old_kernel_try_cookies(void); /* bpf_get_attach_cookie: Linux 5.15 */

/* Must the second build be used? */
bool old_kernel(void);

/*
 * Defines open_old(), which opens a skeleton with the bytes of the second build: both come of the
 * same source, so that maps, programs and data are the same (the Makefile compares the skeletons).
 * NULL with errno set.
 */
#define DEFINE_OPEN_OLD(name)                                                                      \
	static struct name##_bpf *open_old(void)                                                   \
	{                                                                                          \
		struct name##_bpf *skel = calloc(1, sizeof(*skel));                                \
		const void *elf;                                                                   \
		size_t size;                                                                       \
		int r;                                                                             \
                                                                                                   \
		if (!skel)                                                                         \
			return NULL;                                                               \
		elf = name##_old_bpf__elf_bytes(&size);                                            \
		r = name##_bpf__create_skeleton(skel);                                             \
		if (r == 0)                                                                        \
			r = old_kernel_open(skel->skeleton, elf, size);                            \
		if (r == 0)                                                                        \
			return skel;                                                               \
		name##_bpf__destroy(skel);                                                         \
		errno = -r;                                                                        \
		return NULL;                                                                       \
	}

/* Opens the skeleton with these bytes. 0 or negative errno. */
int old_kernel_open(struct bpf_object_skeleton *skeleton, const void *elf, size_t size);

struct probe_stubs {
	int cookies_fd, programs_fd; /* borrowed; 0: cookies are the kernel's */
	int targets[ABI_STUB_PROGRAMS];
	uint32_t n;
};

/* A program that leaves the cookie and calls on to `target_fd`; its descriptor, negative errno. */
int probe_stub_load(struct probe_stubs *stubs, int target_fd, uint64_t cookie);

#endif
