/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --free-stacks: where a site's blocks are freed, how old they are then, and whether by the thread
 * that allocated them. A birth is kept for each live block beside the books, since a block has no
 * room for it; only who asks pays for that.
 */
#ifndef MEMTRACED_FREE_PAIR_BPF_H
#define MEMTRACED_FREE_PAIR_BPF_H

#include "abi_free_pair.h"
#include "process.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct abi_birth);
} births SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct abi_free_key);
	__type(value, struct abi_free_pair);
} free_pairs SEC(".maps") __weak;

/* One that is all 0: it is more than programs have stack for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_free_pair);
} no_free_pair SEC(".maps") __weak;

/* A block is there. What an earlier one has left at its address is no more. */
VERIFIED_ONCE_NUMBERS int birth_note(__u64 key)
{
	struct abi_birth birth = {
		.time_ns = bpf_ktime_get_ns(),
		.tid = bpf_get_current_pid_tgid(),
	};

	if (bpf_map_update_elem(&births, &key, &birth, BPF_ANY))
		count_loss(ABI_LOST_BIRTH);
	return 0;
}

/*
 * A realloc takes its block's birth along: inside the call the address may already be another
 * thread's new block. If it fails it brings it back.
 */
VERIFIED_ONCE_NUMBERS int birth_move(__u64 from, __u64 to)
{
	struct abi_birth *found = bpf_map_lookup_elem(&births, &from), birth;

	if (!found)
		return 0;
	birth = *found;
	bpf_map_delete_elem(&births, &from);
	if (bpf_map_update_elem(&births, &to, &birth, BPF_ANY))
		count_loss(ABI_LOST_BIRTH);
	return 0;
}

static __always_inline __u32 lifetime_bucket(__u64 ns)
{
	__u32 n = 0;

	ns >>= ABI_LIFETIME_SHIFT;
	if (ns >> (ABI_LIFETIMES - 2))
		return ABI_LIFETIMES - 1;
	if (ns >> 16) {
		n += 16;
		ns >>= 16;
	}
	if (ns >> 8) {
		n += 8;
		ns >>= 8;
	}
	if (ns >> 4) {
		n += 4;
		ns >>= 4;
	}
	if (ns >> 2) {
		n += 2;
		ns >>= 2;
	}
	return n + (__u32)ns - (ns > 2);
}

/* The pair, made when it is new; NULL: there is no room. */
static __always_inline struct abi_free_pair *pair_get(const struct abi_free_key *key)
{
	struct abi_free_pair *pair = bpf_map_lookup_elem(&free_pairs, key), *none;
	__u32 first = 0;

	if (pair)
		return pair;
	none = bpf_map_lookup_elem(&no_free_pair, &first);
	if (none)
		bpf_map_update_elem(&free_pairs, key, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&free_pairs, key);
}

static __always_inline void count_lifetime(struct abi_free_pair *pair, __u64 birth_key)
{
	struct abi_birth *birth = bpf_map_lookup_elem(&births, &birth_key);
	__u64 now = bpf_ktime_get_ns(), ns;
	__u32 bucket;

	/* An inherited block, one from before the attach, or there was no room. */
	if (!birth) {
		__sync_fetch_and_add(&pair->unknown, 1);
		return;
	}
	if (birth->tid != (__u32)bpf_get_current_pid_tgid())
		__sync_fetch_and_add(&pair->others, 1);
	ns = now > birth->time_ns ? now - birth->time_ns : 0;
	bucket = lifetime_bucket(ns) % ABI_LIFETIMES;
	__sync_fetch_and_add(&pair->total_ns, ns);
	__sync_fetch_and_add(&pair->lifetimes[bucket], 1);
	bpf_map_delete_elem(&births, &birth_key);
}

/* A free of 0 by 0: where it was is not known, as a birth with the key 0 is not. */
VERIFIED_ONCE int pair_add(__u32 slot, __u64 birth_key, const struct abi_block *block, __u64 stack,
			   __u32 fn)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct abi_free_key key = { .free_stack = stack, .free_fn = fn };
	struct abi_free_pair *pair;

	if (!proc || !block)
		return 0;
	key.stack = block->stack;
	key.fn = ABI_BLOCK_FN(block);
	key.image = proc->image;
	pair = pair_get(&key);
	if (!pair) {
		count_loss(ABI_LOST_FREE_PAIR);
		bpf_map_delete_elem(&births, &birth_key);
		return 0;
	}
	__sync_fetch_and_add(&pair->count, 1);
	__sync_fetch_and_add(&pair->bytes, ABI_BLOCK_SIZE(block));
	count_lifetime(pair, birth_key);
	return 0;
}

#endif
