/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Linux 5.10 to 5.14 lack. All BPF code is compiled twice, the second time with OLD_KERNEL:
 * the verifier refuses some of this even where it is never reached, so a knob would not do.
 *
 *   atomic operations that give a value    5.12  what a hash map does in one step instead
 *   pointers to global functions           5.12  static functions, verified at each call
 *   bpf_task_pt_regs                       5.15  found by the layout of the kernel stack
 *   bpf_get_attach_cookie                  5.15  each probe has a program of its own, which leaves
 *                                                its cookie here and calls on
 *                                                (trace/kernel/old_kernel.c)
 */
#ifndef MEMTRACED_OLD_KERNEL_BPF_H
#define MEMTRACED_OLD_KERNEL_BPF_H

#include "abi.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* The cookie of the probe that a thread has just hit. Not created for newer kernels. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_STUB_THREADS);
	__type(key, __u32); /* thread id */
	__type(value, __u64);
} cookies SEC(".maps") __weak;

/* What the probes' own programs call on to. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, ABI_STUB_PROGRAMS);
	__type(key, __u32);
	__type(value, __u32);
} stub_programs SEC(".maps") __weak;

/* Slots that are taken, where adding to next_slot cannot tell whose it is. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} slot_claims SEC(".maps") __weak;

#ifdef OLD_KERNEL

#define VERIFIED_ONCE static __attribute__((noinline, unused))
/* These take numbers and the context alone, which 5.10 has, too. */
#define VERIFIED_ONCE_NUMBERS __weak __attribute__((noinline))

static __always_inline __u64 attach_cookie(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 *cookie = bpf_map_lookup_elem(&cookies, &tid);

	(void)ctx; /* newer kernels have it there */
	return cookie ? *cookie : 0;
}

/* THREAD_SIZE of x86-64, and of arm64 with pages of 4 KiB */
#define KERNEL_STACK_BYTES 16384

static __always_inline struct pt_regs *task_registers(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES - bpf_core_type_size(struct pt_regs);
}

/*
 * Takes what is 0, against programs that come between on this CPU: two that try at once may both
 * fail, never both succeed.
 */
static __always_inline bool take_on_this_cpu(__u32 *busy)
{
	__sync_fetch_and_add(busy, 1);
	if (*(volatile __u32 *)busy == 1)
		return true;
	__sync_fetch_and_add(busy, -1);
	return false;
}

static __always_inline void give_back_on_this_cpu(__u32 *busy)
{
	__sync_fetch_and_add(busy, -1);
}

/* Two CPUs may both do it: an interim report's peak is then off by one event. */
static __always_inline bool swap_once(__u32 *word, __u32 seen, __u32 now)
{
	(void)seen;
	*(volatile __u32 *)word = now;
	return true;
}

#else

/* Global functions are verified by themselves, once for all their calls. */
#define VERIFIED_ONCE __weak __attribute__((noinline))
#define VERIFIED_ONCE_NUMBERS VERIFIED_ONCE

static __always_inline __u64 attach_cookie(void *ctx)
{
	return bpf_get_attach_cookie(ctx);
}

static __always_inline struct pt_regs *task_registers(void)
{
	return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

static __always_inline bool take_on_this_cpu(__u32 *busy)
{
	return __sync_val_compare_and_swap(busy, 0, 1) == 0;
}

static __always_inline void give_back_on_this_cpu(__u32 *busy)
{
	*(volatile __u32 *)busy = 0;
}

static __always_inline bool swap_once(__u32 *word, __u32 seen, __u32 now)
{
	return __sync_val_compare_and_swap(word, seen, now) == seen;
}

#endif

#endif
