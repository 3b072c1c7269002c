/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder's maps: see abi_unwind.h. Sizes given as 1 are set by the daemon before load.
 */
#ifndef MEMTRACED_UNWIND_MAPS_BPF_H
#define MEMTRACED_UNWIND_MAPS_BPF_H

#include "abi_unwind.h"

#include <bpf/bpf_helpers.h>

/*
 * Rows of objects, by chunk << 24 | row in the chunk. The first chunk is at hand from the start
 * (and smaller), the others are made when they are needed. An object's rows lie within one chunk.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_unwind_row);
} unwind_rows SEC(".maps") __weak;

struct unwind_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_UNWIND_CHUNK_ROWS);
	/* sizes: of a type named here clang 14 leaves only its name */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct abi_unwind_row));
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ABI_UNWIND_CHUNKS);
	__type(key, __u32);
	__array(values, struct unwind_chunk);
} unwind_chunks SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_unwind_rule);
} unwind_rules SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_unwind_mapping);
} unwind_mappings SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_unwind_object);
} unwind_objects SEC(".maps") __weak;

/* By slot: ABI_UNWIND_SORTED. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} unwind_sorted SEC(".maps") __weak;

/* By slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_unwind_space);
} unwind_spaces SEC(".maps") __weak;

#endif
