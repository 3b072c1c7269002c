/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All maps. Sizes given as 1 are set by the daemon before load (trace/bpf/programs.c). Hash maps
 * are not preallocated: preallocating 4 M entries costs most of a second (measured).
 */
#ifndef MEMTRACED_MAPS_BPF_H
#define MEMTRACED_MAPS_BPF_H

#include "abi_heap_error.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps") __weak;

/* tgid -> slot, for every traced process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} pids SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_proc);
} procs SEC(".maps") __weak;

/* By slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_room);
} rooms SEC(".maps") __weak;

/* Slots of images of which nothing is left, to be used again: the oldest first. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32);
} free_slots SEC(".maps") __weak;

/* Mapped into the daemon, hence aligned to pages: buckets and entries begin with a cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_block_bucket);
} block_buckets SEC(".maps") __weak;

/* A bit for each bucket in which there has been a block: user space looks into these alone. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} block_marks SEC(".maps") __weak;

/* Blocks whose bucket is full. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64); /* ABI_BLOCK_KEY */
	__type(value, struct abi_block);
} blocks SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_SITE_ENTRIES);
	__type(key, __u32);
	__type(value, struct abi_site_entry);
} site_table SEC(".maps") __weak;

/* Sites that found no place in the table. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct abi_site_key);
	__type(value, struct abi_site);
} sites SEC(".maps") __weak;

/* The newest of `stacks` by their low bits: what is found here need not be looked up there. */
#define RECENT_STACKS (1U << 14)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT_STACKS);
	__type(key, __u32);
	__type(value, __u64);
} recent_stacks SEC(".maps") __weak;

/* Stacks whose frames user space has, by content hash. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u8);
} stacks SEC(".maps") __weak;

/* Blocks freed by a process while forked children share them: DESIGN.md section 5, rule 5. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct abi_tomb_key);
	__type(value, struct abi_tomb);
} tombs SEC(".maps") __weak;

/* Inherited blocks that a forked child has freed: ABI_BLOCK_KEY of the child -> its era then. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} shed SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_HEAP_ERRORS);
	__type(key, struct abi_heap_error_key);
	__type(value, struct abi_heap_error);
} heap_errors SEC(".maps") __weak;

/* The newest frees of all processes, by ABI_BLOCK_KEY. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct abi_freed);
} freed_blocks SEC(".maps") __weak;

/* By slot: errors for which there was no room. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} further_heap_errors SEC(".maps") __weak;

/* Executable files that user space has looked at. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct abi_file_key);
	__type(value, struct abi_file);
} files SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct abi_inner_free);
	__type(value, __u8);
} inner_frees SEC(".maps") __weak;

/*
 * Start addresses of mapped shared objects, as ABI_BLOCK_KEY, with enum abi_code_start: see
 * code_epoch.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 131072);
	__type(key, __u64);
	__type(value, __u8);
} code_starts SEC(".maps") __weak;

/* The cgroup whose processes jobs count: ABI_SCOPE_CGROUP. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps") __weak;

/* Only this CPU's value: an event that is lost to preemption costs the status line one count. */
static __always_inline void count_by(__u32 counter, __u64 by)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &counter);

	if (n)
		*n += by;
}

static __always_inline void count_event(void)
{
	count_by(ABI_EVENTS, 1);
}

static __always_inline void count_losses(enum abi_loss cause, __s64 by)
{
	__u32 key = cause;
	__u64 *n = bpf_map_lookup_elem(&counters, &key);

	if (n)
		__sync_fetch_and_add(n, by);
}

static __always_inline void count_loss(enum abi_loss cause)
{
	count_losses(cause, 1);
}

#endif
