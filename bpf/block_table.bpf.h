/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where live blocks are kept: a table of buckets of seven, whose keys fill one cache line, and a
 * hash map for what finds its bucket full. Insertion and removal in a bucket are a compare and swap
 * and no call; most blocks die young and never see the map, whose elements are allocated one by one
 * (measured: 280 ns for a pair of malloc and free, 60 by the table).
 *
 * A key is put in after its value and taken out before it: between, the way is ABI_BLOCK_BUSY. Who
 * swaps the key for that owns the way, so that of two threads that free one block one finds it.
 */
#ifndef MEMTRACED_BLOCK_TABLE_BPF_H
#define MEMTRACED_BLOCK_TABLE_BPF_H

#include "knobs.bpf.h"
#include "maps.bpf.h"
#include "registers.bpf.h"
#include "room.bpf.h"

/* 0, -EEXIST, -ENOSPC: the process has more than its share, or what the map says. */
static __always_inline long block_map_add(__u64 key, const struct abi_block *block)
{
	struct abi_room *room = room_of(ABI_BLOCK_SLOT(key));
	long r;

	if (!room_for_block(room))
		return -ENOSPC;
	r = bpf_map_update_elem(&blocks, &key, block, BPF_NOEXIST);
	if (!r)
		ROOM_COUNT(room, spilled, 1);
	return r;
}

static __always_inline bool block_map_delete(__u64 key)
{
	struct abi_room *room;

	if (bpf_map_delete_elem(&blocks, &key))
		return false;
	room = room_of(ABI_BLOCK_SLOT(key));
	ROOM_COUNT(room, spilled, -1);
	return true;
}

#ifdef OLD_KERNEL

/* Ways are claimed by compare and swap: all blocks are in the map. */
VERIFIED_ONCE int block_insert(__u64 key, const struct abi_block *block)
{
	int r = block_map_add(key, block);

	return r == -ENOSPC && bpf_map_lookup_elem(&blocks, &key) ? -EEXIST : r;
}

VERIFIED_ONCE int block_remove(__u64 key, struct abi_block *ret)
{
	struct abi_block *found = bpf_map_lookup_elem(&blocks, &key);

	if (!found)
		return 0;
	*ret = *found;
	return block_map_delete(key);
}

static __always_inline int block_remove_here(__u64 key, struct abi_block *ret)
{
	return block_remove(key, ret);
}

static __always_inline bool block_find(__u64 key, struct abi_block *ret)
{
	struct abi_block *found = bpf_map_lookup_elem(&blocks, &key);

	if (found)
		*ret = *found;
	return found;
}

/* What has been freed is remembered in the buckets alone. */
static __always_inline bool block_was_freed(__u64 key, struct abi_block *ret, bool *ret_known)
{
	(void)key;
	(void)ret;
	(void)ret_known;
	return false;
}

#else

static __always_inline struct abi_block_bucket *bucket_of(__u64 key)
{
	__u32 i = abi_block_bucket_index(key, knob_block_buckets);

	return bpf_map_lookup_elem(&block_buckets, &i);
}

/* Before the first block is put in. */
static __always_inline void bucket_mark(__u64 key)
{
	__u32 i = abi_block_bucket_index(key, knob_block_buckets), at = i / ABI_BUCKETS_A_MARK;
	__u64 bit = 1ULL << i % ABI_BUCKETS_A_MARK, *marks = bpf_map_lookup_elem(&block_marks, &at);

	/* Most have been marked for long, and all CPUs read this line. */
	if (marks && !(*(volatile __u64 *)marks & bit))
		__sync_fetch_and_or(marks, bit);
}

static __always_inline bool way_claim(struct abi_block_bucket *b, int way, __u64 key)
{
	return __sync_val_compare_and_swap(&b->key[way], key, ABI_BLOCK_BUSY) == key;
}

/* Adds or replaces in the hash map. The count is raised first: who finds 0 need not look there. */
static __always_inline long block_spill(struct abi_block_bucket *b, __u64 key,
					const struct abi_block *block)
{
	/* Linux 6.1 takes no memory that a global function was given. */
	struct abi_block copy = *block;
	long r;

	__sync_fetch_and_add(&b->spilled, 1);
	r = block_map_add(key, &copy);
	if (r)
		__sync_fetch_and_add(&b->spilled, -1);
	return r;
}

/*
 * Adds a block; -EEXIST when there is one already, -ENOSPC when its process has more than its share
 * of the map, else what the map says. Global functions are
 * verified once.
 */
VERIFIED_ONCE int block_insert(__u64 key, const struct abi_block *block)
{
	struct abi_block_bucket *b = bucket_of(key);
	int way, free_way = -1;
	__u64 any = 0;

	if (!b || !block)
		return -1;
	for (way = ABI_BLOCK_WAYS - 1; way >= 0; way--) {
		__u64 found = *(volatile __u64 *)&b->key[way];

		if (found == key)
			return -EEXIST;
		if (!found)
			free_way = way;
		any |= found;
		barrier_var(any); /* else compilers keep what was read, on a stack without room */
		barrier_var(free_way);
	}
	if (*(volatile __u32 *)&b->spilled && bpf_map_lookup_elem(&blocks, &key))
		return -EEXIST;
	if (!any)
		bucket_mark(key);
	/* In order, so that a way that another CPU has just claimed is passed over. */
	for (way = 0; way < ABI_BLOCK_WAYS; way++) {
		if (way < free_way || free_way < 0 || !way_claim(b, way, 0))
			continue;
		b->block[way] = *block;
		PUBLISH(&b->key[way], key);
		return 0;
	}
	return block_spill(b, key, block);
}

/* One store beside what a removal writes anyway; of two at once one may be forgotten. */
static __always_inline void remember_freed(struct abi_block_bucket *b, int way, __u64 key)
{
	__u32 i = b->freed_next;

	if (i >= ABI_BLOCK_FREED)
		i = 0;
	b->freed[i] = key;
	b->freed_way[i] = way;
	b->freed_next = i + 1;
}

/*
 * Is it one of the newest frees of its bucket? A block that is not there now, and was, has been
 * freed, however often it was allocated between. *ret_known: *ret is what it was.
 */
static __always_inline bool block_was_freed(__u64 key, struct abi_block *ret, bool *ret_known)
{
	struct abi_block_bucket *b = bucket_of(key);
	__u32 used = 0, n, i, way;

	if (!b)
		return false;
	i = b->freed_next;
	for (n = 0; n < ABI_BLOCK_FREED; n++) {
		i = i && i <= ABI_BLOCK_FREED ? i - 1 : ABI_BLOCK_FREED - 1;
		way = b->freed_way[i];
		if (b->freed[i] != key) {
			used |= 1U << (way & 7);
			continue;
		}
		/* Another block may have come to its way, and gone again. */
		*ret_known = way < ABI_BLOCK_WAYS && !b->key[way] && !(used >> way & 1);
		if (*ret_known)
			*ret = b->block[way];
		return true;
	}
	return false;
}

/* block_remove() where a call would be felt: at each free. */
static __always_inline int block_remove_here(__u64 key, struct abi_block *ret)
{
	struct abi_block_bucket *b = bucket_of(key);
	struct abi_block *found;
	int way;

	if (!b)
		return 0;
	for (way = 0; way < ABI_BLOCK_WAYS; way++) {
		if (*(volatile __u64 *)&b->key[way] != key)
			continue;
		if (!way_claim(b, way, key))
			return 0;
		*ret = b->block[way];
		remember_freed(b, way, key);
		PUBLISH(&b->key[way], 0);
		return 1;
	}
	if (!*(volatile __u32 *)&b->spilled)
		return 0;
	found = bpf_map_lookup_elem(&blocks, &key);
	if (!found)
		return 0;
	*ret = *found;
	if (!block_map_delete(key))
		return 0;
	__sync_fetch_and_add(&b->spilled, -1);
	return 1;
}

/* Takes a block out; false when there is none, or another thread has just taken it. */
VERIFIED_ONCE int block_remove(__u64 key, struct abi_block *ret)
{
	return ret ? block_remove_here(key, ret) : 0;
}

/*
 * Copies a block that another process may take out meanwhile: what is read twice alike, around the
 * same key, was whole.
 */
VERIFIED_ONCE int block_find(__u64 key, struct abi_block *ret)
{
	struct abi_block_bucket *b = bucket_of(key);
	struct abi_block *found;
	int way;

	if (!b || !ret)
		return false;
	for (way = 0; way < ABI_BLOCK_WAYS; way++) {
		if (*(volatile __u64 *)&b->key[way] != key)
			continue;
		loads_in_order();
		*ret = b->block[way];
		loads_in_order();
		return *(volatile __u64 *)&b->key[way] == key;
	}
	found = *(volatile __u32 *)&b->spilled ? bpf_map_lookup_elem(&blocks, &key) : NULL;
	if (!found)
		return false;
	*ret = *found;
	return true;
}

#endif

#endif
