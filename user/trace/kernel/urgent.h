/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations on maps that programs may not wait for. As long as a thread is in one, its CPU runs no
 * program of a perf tracepoint or kprobe (bpf_disable_instrumentation() in kernel/bpf/syscall.c).
 * Where the kernel can be preempted, another thread may come between: what that does is then left
 * out, and the kernel counts it. So the calling thread has real-time priority meanwhile, which
 * leaves its CPU to nothing but other real-time threads.
 */
#ifndef MEMTRACED_TRACE_KERNEL_URGENT_H
#define MEMTRACED_TRACE_KERNEL_URGENT_H

#include "base/cleanup.h"

#include <sched.h>

struct urgent {
	int policy; /* to go back to; -1: nothing was changed */
	struct sched_param param;
};

/* Nothing is changed where the rights are missing, or the thread is a real-time one. */
struct urgent urgent_begin(void);
void urgent_end(struct urgent *urgent);

/* Until the end of the block. */
#define _urgent_ _cleanup_(urgent_end) __attribute__((unused)) struct urgent urgent = urgent_begin()

/*
 * bpf_map_lookup_elem(), _update_elem() with BPF_ANY, with BPF_NOEXIST, and _delete_elem(), so: 0
 * or negative errno. errno itself is not kept over the return to the old priority.
 */
int urgent_lookup(int map_fd, const void *key, void *value);
int urgent_update(int map_fd, const void *key, const void *value);
int urgent_add(int map_fd, const void *key, const void *value);
int urgent_delete(int map_fd, const void *key);

#endif
