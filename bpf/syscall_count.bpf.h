/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of --syscalls: calls with their latencies, errors, callers, and what was done with
 * files. Functions that are not inlined are verified once and alone, not on every path to them.
 */
#ifndef MEMTRACED_SYSCALL_COUNT_BPF_H
#define MEMTRACED_SYSCALL_COUNT_BPF_H

#include "abi_syscalls.h"
#include "process.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 131072);
	__type(key, struct abi_syscall_key);
	__type(value, struct abi_syscall);
} syscalls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 262144);
	__type(key, struct abi_syscall_error_key);
	__type(value, __u64);
} syscall_errors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct abi_syscall_stack_key);
	__type(value, struct abi_syscall_stack);
} syscall_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct abi_io_key);
	__type(value, struct abi_io);
} file_io SEC(".maps");

/* Too large for the stack of a program. */
static const struct abi_syscall fresh_syscall;

static __always_inline void lost(__u32 slot, enum abi_loss cause)
{
	struct abi_proc *proc = proc_by_slot(slot);

	if (proc)
		proc_lost(proc, cause);
	else
		count_loss(cause);
}

static __always_inline struct abi_syscall *syscall_get(__u32 slot, __s32 number)
{
	struct abi_syscall_key key = {
		.slot = slot,
		.number = number,
		.cpu = bpf_get_smp_processor_id(),
	};
	struct abi_syscall *s = bpf_map_lookup_elem(&syscalls, &key);

	if (s)
		return s;
	bpf_map_update_elem(&syscalls, &key, &fresh_syscall, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&syscalls, &key);
	if (!s)
		lost(slot, ABI_LOST_SYSCALL_MAP_FULL);
	return s;
}

/* floor(log2(x)) of a number that is not 0: five halvings, as BPF cannot count zeros. */
static __always_inline __u32 log2_of(__u64 x)
{
	__u32 n = 0, step;

	for (step = 32; step; step /= 2) {
		if (x >> step) {
			x >>= step;
			n += step;
		}
	}
	return n;
}

__noinline __u32 latency_bucket(__u64 ns)
{
	__u32 power;

	if (ns >> ABI_LATENCY_LOWEST == 0)
		return 0;
	power = log2_of(ns);
	if (power >= ABI_LATENCY_LOWEST + ABI_LATENCY_POWERS)
		return ABI_LATENCY_BUCKETS - 1;
	return 1 + (power - ABI_LATENCY_LOWEST) * 8 + (ns >> (power - 3) & 7);
}

static __always_inline void raise(__u64 *max, __u64 value)
{
#ifdef OLD_KERNEL
	if (value > *(volatile __u64 *)max)
		*(volatile __u64 *)max = value;
#else
	__u64 old;
	int i;

	/* A failure means that another thread of this CPU came in between. */
	for (i = 0; i < 8; i++) {
		old = *(volatile __u64 *)max;
		if (value <= old || __sync_val_compare_and_swap(max, old, value) == old)
			return;
	}
#endif
}

static __always_inline void count_latency(struct abi_syscall *s, __u64 ns)
{
	__u32 bucket = latency_bucket(ns);

	if (bucket < ABI_LATENCY_BUCKETS)
		__sync_fetch_and_add(&s->buckets[bucket], 1);
	__sync_fetch_and_add(&s->total_ns, ns);
	raise(&s->max_ns, ns);
}

__noinline int count_error(__u32 slot, __s32 number, __u32 error)
{
	struct abi_syscall_error_key key = {
		.slot = slot,
		.number = number,
		.error = error,
		.cpu = bpf_get_smp_processor_id(),
	};
	__u64 *n = bpf_map_lookup_elem(&syscall_errors, &key), zero = 0;

	if (!n) {
		bpf_map_update_elem(&syscall_errors, &key, &zero, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&syscall_errors, &key);
	}
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		lost(slot, ABI_LOST_SYSCALL_MAP_FULL);
	return 0;
}

__noinline int count_stack(__u64 stack, __u32 slot, __s32 number, __u64 ns)
{
	struct abi_syscall_stack_key key = {
		.stack = stack,
		.slot = slot,
		.number = number,
		.cpu = bpf_get_smp_processor_id(),
	};
	struct abi_syscall_stack *s = bpf_map_lookup_elem(&syscall_stacks, &key), zero = {};

	if (!s) {
		bpf_map_update_elem(&syscall_stacks, &key, &zero, BPF_NOEXIST);
		s = bpf_map_lookup_elem(&syscall_stacks, &key);
	}
	if (!s) {
		lost(slot, ABI_LOST_SYSCALL_MAP_FULL);
		return 0;
	}
	__sync_fetch_and_add(&s->calls, 1);
	__sync_fetch_and_add(&s->total_ns, ns);
	return 0;
}

/* A counter of struct abi_io by what was done. */
static __always_inline __u64 *io_counter(struct abi_io *io, enum abi_file_use use)
{
	switch (use) {
	case ABI_FILE_OPEN:
		return &io->opens;
	case ABI_FILE_READ:
		return &io->reads;
	case ABI_FILE_WRITE:
		return &io->writes;
	default:
		return &io->others;
	}
}

#define FILE_NUMBERS(id) ((__u64)(id)->dev << 32 | (id)->kind)
#define SLOT_USE(slot, use) ((__u64)(slot) << 32 | (use))

/* Five arguments are all that a function can have. */
__noinline int count_io(__u64 ino, __u64 file_numbers, __u64 slot_use, __u64 bytes, __u64 ns)
{
	__u32 slot = slot_use >> 32, use = slot_use;
	struct abi_io_key key = {
		.id = { .ino = ino, .dev = file_numbers >> 32, .kind = file_numbers },
		.slot = slot,
		.cpu = bpf_get_smp_processor_id(),
	};
	struct abi_io *io = bpf_map_lookup_elem(&file_io, &key), zero = {};

	if (!io) {
		bpf_map_update_elem(&file_io, &key, &zero, BPF_NOEXIST);
		io = bpf_map_lookup_elem(&file_io, &key);
	}
	if (!io) {
		lost(slot, ABI_LOST_FILE_MAP_FULL);
		return 0;
	}
	__sync_fetch_and_add(io_counter(io, use), 1);
	__sync_fetch_and_add(&io->total_ns, ns);
	if (bytes)
		__sync_fetch_and_add(use == ABI_FILE_WRITE ? &io->bytes_written : &io->bytes_read,
				     bytes);
	return 0;
}

static __always_inline void count_file(const struct abi_file_id *id, __u32 slot,
				       enum abi_file_use use, __u64 bytes, __u64 ns)
{
	count_io(id->ino, FILE_NUMBERS(id), SLOT_USE(slot, use), bytes, ns);
}

#endif
