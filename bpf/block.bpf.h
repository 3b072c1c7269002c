/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live blocks by (process, address): adding, removing, and what a fork makes of them. Nothing is
 * copied at a fork: a child looks in its ancestors for blocks older than the fork (abi_block.era),
 * a block that an ancestor frees meanwhile leaves a tomb, what the child frees is kept as shed.
 *
 * A shared block is at each moment in the table, in a tomb, or in both: the tomb is added before
 * the block is removed, and readers look at the table first. A reader that finds both takes the
 * tomb, which does not change. docs/hacking/accounting.md has the argument,
 * tests/models/shared_blocks.pml the model.
 */
#ifndef MEMTRACED_BLOCK_BPF_H
#define MEMTRACED_BLOCK_BPF_H

#include "block_table.bpf.h"
#include "process.bpf.h"

enum block_origin { BLOCK_UNKNOWN, BLOCK_OWN, BLOCK_INHERITED };

/*
 * Generations of forks without exec, and tombs of one address, that are searched. A parent that
 * forks in a loop leaves a tomb at the same address for each child that is not read yet.
 */
#define MAX_ANCESTORS 6
#define MAX_TOMBS 128
#define TOMB_TRIES 8
/* As many are one global function's loop. */
#define TOMBS_AT_ONCE 8

/*
 * Is the newest tomb of a key of this block, and for the same children? A realloc that fails puts
 * its block back and leaves the tomb: to delete it would open a window in which readers find
 * neither.
 */
static __always_inline bool tomb_is_newest(struct abi_tomb_key *tk, __u32 count,
					   const struct abi_tomb *tomb)
{
	struct abi_tomb *newest;

	if (!count)
		return false;
	tk->n = 1 + (count - 1) % MAX_TOMBS;
	newest = bpf_map_lookup_elem(&tombs, tk);
	return newest && newest->block.era == tomb->block.era &&
	       newest->freed_era == tomb->freed_era;
}

/* Before the block is removed. */
VERIFIED_ONCE int tomb_add(__u32 slot, __u64 key, const struct abi_block *block)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct abi_tomb_key tk = { .block = key };
	struct abi_tomb *found, tomb = {};
	__u32 n, next = 0;

	if (!proc || !block)
		return 0;
	found = bpf_map_lookup_elem(&tombs, &tk);
	if (!found) {
		/* The head: of what is all zero still. */
		bpf_map_update_elem(&tombs, &tk, &tomb, BPF_NOEXIST);
		found = bpf_map_lookup_elem(&tombs, &tk);
	}
	tomb.block = *block;
	tomb.freed_era = proc->era;
	if (found) {
		next = *(volatile __u32 *)&found->count;
		if (tomb_is_newest(&tk, next, &tomb))
			return 0;
		__sync_fetch_and_add(&found->count, 1);
	}
	/* User space deletes those that no child needs any more: the oldest number comes free. */
	for (n = 0; found && n < TOMB_TRIES; n++) {
		tk.n = 1 + (next + n) % MAX_TOMBS;
		if (!bpf_map_update_elem(&tombs, &tk, &tomb, BPF_NOEXIST))
			return 0;
	}
	proc_lost(proc, ABI_LOST_TOMBSTONE);
	return 0;
}

static __always_inline bool tomb_holds(const struct abi_tomb *tomb, __u32 era)
{
	return tomb && tomb->block.era < era && era <= tomb->freed_era;
}

/* As tomb_number(), from the tomb n on, of a few. */
VERIFIED_ONCE_NUMBERS __u32 tomb_number_from(__u64 key, __u32 era, __u32 n)
{
	struct abi_tomb_key tk = { .block = key };
	int i;

	for (i = 0; i < TOMBS_AT_ONCE; i++) {
		tk.n = n + i;
		if (tomb_holds(bpf_map_lookup_elem(&tombs, &tk), era))
			return tk.n;
	}
	return 0;
}

/*
 * The number of the tomb of a block that a child forked at `era` saw at this key and that was freed
 * since; 0 if there is none. It gives a number, so that 5.10 can verify its loop once, too.
 */
VERIFIED_ONCE_NUMBERS __u32 tomb_number(__u64 key, __u32 era)
{
	struct abi_tomb_key tk = { .block = key };
	struct abi_tomb *tomb = bpf_map_lookup_elem(&tombs, &tk);
	__u32 count, n, number;

	if (!tomb)
		return 0;
	count = tomb->count;
	for (n = 1; n <= MAX_TOMBS; n += TOMBS_AT_ONCE) {
		if (n > count + TOMB_TRIES)
			break;
		number = tomb_number_from(key, era, n);
		if (number)
			return number;
	}
	return 0;
}

/* A tomb stays while the child that it is for lives, which is the current process. */
static __always_inline bool tomb_find(__u64 key, __u32 era, struct abi_block *ret)
{
	struct abi_tomb_key tk = { .block = key, .n = tomb_number(key, era) };
	struct abi_tomb *tomb = tk.n ? bpf_map_lookup_elem(&tombs, &tk) : NULL;

	if (!tomb_holds(tomb, era))
		return false;
	*ret = tomb->block;
	return true;
}

/*
 * Finds a block that the process got from an ancestor by fork and still holds. A global function,
 * so that the verifier checks it once.
 */
VERIFIED_ONCE int block_find_inherited(__u32 slot, __u64 addr, struct abi_block *ret)
{
	struct abi_proc *proc = proc_by_slot(slot);
	__u32 *shed_era, era;
	bool is_live;
	__u64 key;
	int i;

	if (!proc || !ret)
		return 0;
	key = ABI_BLOCK_KEY(slot, addr);
	if (bpf_map_lookup_elem(&shed, &key))
		return 0;
	for (i = 0; i < MAX_ANCESTORS; i++) {
		era = proc->parent_era;
		slot = proc->parent;
		if (slot == ABI_NO_SLOT)
			return 0;
		key = ABI_BLOCK_KEY(slot, addr);
		is_live = block_find(key, ret) && ret->era < era;
		loads_in_order();
		/* Without a tomb the block was there all the time, so that its copy is whole. */
		if (tomb_find(key, era, ret) || is_live)
			return 1;
		shed_era = bpf_map_lookup_elem(&shed, &key);
		if (shed_era && *shed_era < era)
			return 0;
		proc = proc_by_slot(slot);
		if (!proc)
			return 0;
	}
	count_loss(ABI_LOST_TOMBSTONE);
	return 0;
}

/*
 * Removes a block of the process that children may share; 0: there is none, or another thread has
 * removed it. Two threads that free one address and a third that is given it meanwhile may remove a
 * block that has no tomb yet: that is a loss.
 */
VERIFIED_ONCE int block_remove_shared(__u32 slot, __u64 addr, struct abi_block *ret)
{
	struct abi_proc *proc = proc_by_slot(slot);
	__u64 key = ABI_BLOCK_KEY(slot, addr);
	__u32 era;

	if (!proc || !ret || !block_find(key, ret))
		return 0;
	era = ret->era;
	if (era < proc->era)
		tomb_add(slot, key, ret);
	if (!block_remove(key, ret))
		return 0;
	if (ret->era != era && ret->era < proc->era) {
		tomb_add(slot, key, ret);
		proc_lost(proc, ABI_LOST_TOMBSTONE);
	}
	return 1;
}

/* Removes a block of the process itself; 0: there is none. */
static __always_inline int block_remove_own(const struct abi_proc *proc, __u32 slot, __u64 addr,
					    struct abi_block *ret)
{
	return proc->sharers ? block_remove_shared(slot, addr, ret) :
			       block_remove_here(ABI_BLOCK_KEY(slot, addr), ret);
}

/*
 * Removes the block at addr from the process: enum block_origin, and what it was in *ret unless
 * that is BLOCK_UNKNOWN.
 */
VERIFIED_ONCE int block_take(__u32 slot, __u64 addr, struct abi_block *ret)
{
	struct abi_proc *proc = proc_by_slot(slot);
	__u64 key = ABI_BLOCK_KEY(slot, addr);
	__u32 era;
	long r;

	if (!proc || !ret || addr & 7 || addr >= ABI_ADDR_LIMIT)
		return BLOCK_UNKNOWN;
	if (block_remove_own(proc, slot, addr, ret))
		return BLOCK_OWN;
	if (proc->parent == ABI_NO_SLOT || !block_find_inherited(slot, addr, ret))
		return BLOCK_UNKNOWN;
	era = proc->era;
	r = bpf_map_update_elem(&shed, &key, &era, BPF_NOEXIST);
	/* Another thread has just freed it. */
	if (r == -EEXIST)
		return BLOCK_UNKNOWN;
	if (r)
		proc_lost(proc, ABI_LOST_TOMBSTONE);
	return BLOCK_INHERITED;
}

/* block_insert() has failed with r. */
static __always_inline void count_no_block_room(struct abi_proc *proc, int r)
{
	proc_lost(proc, r == -ENOSPC ? ABI_LOST_BLOCK_ROOM : ABI_LOST_BLOCK_MAP_FULL);
}

/* Undoes block_take after a realloc that failed. */
VERIFIED_ONCE int block_put_back(__u32 slot, __u64 addr, const struct abi_block *block,
				 __u32 origin)
{
	struct abi_proc *proc = proc_by_slot(slot);
	__u64 key = ABI_BLOCK_KEY(slot, addr);
	int r = 0;

	if (!proc || !block)
		return 0;
	if (origin == BLOCK_INHERITED)
		bpf_map_delete_elem(&shed, &key);
	else if (origin == BLOCK_OWN)
		r = block_insert(key, block);
	if (r)
		count_no_block_room(proc, r);
	return 0;
}

#endif
