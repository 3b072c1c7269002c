/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that are made inside an allocator call which an exception can leave (ABI_THROWS): above
 * all the exception itself, which operator new allocates when there is no memory. Whose they are
 * shows when that call ends. If it returns, they were its own affair. If it was left, or somebody
 * else frees one, they are the program's, and enter the books then (account.bpf.h).
 *
 * The call waits as a suspended one meanwhile (thread.bpf.h), and its place has the list of them.
 */
#ifndef MEMTRACED_INNER_BPF_H
#define MEMTRACED_INNER_BPF_H

#include "process.bpf.h"
#include "thread.bpf.h"

/* Of one call, and as many that are freed inside it; what is more is lost (counted). */
#define INNER_BLOCKS 8

struct inner_block {
	struct abi_block block;
	__u32 peak_epoch; /* of the process when it was made */
	__u32 place;	  /* of the suspended call */
};

struct inner_list {
	__u64 key[INNER_BLOCKS]; /* ABI_BLOCK_KEY; 0: none */
	__u64 last_key;		 /* the thread's before the first of them */
	__s64 bytes;		 /* in them */
	__s64 most;		 /* the process's live bytes with them, at the most */
	struct abi_block freed[INNER_BLOCKS];
	__u8 temporary[INNER_BLOCKS]; /* freed with no other made between */
	__u32 n_freed;
	__u32 missed;
};

/* An empty one; no static, which the build that has no use for it would lack (check-skeletons). */
__weak const __u8 no_inner_list[sizeof(struct inner_list)];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, __u64); /* ABI_BLOCK_KEY */
	__type(value, struct inner_block);
} inner_blocks SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct suspended_key);
	__type(value, struct inner_list);
} inner_lists SEC(".maps") __weak;

#ifndef OLD_KERNEL

/* The list of this thread's suspended call, made anew for its first block. */
static __always_inline struct inner_list *inner_list_get(const struct thread *t,
							 struct alloc_call *call, __u32 place)
{
	struct suspended_key key = { .tid = bpf_get_current_pid_tgid(), .place = place };
	struct inner_list *list;

	if (call->inner)
		return bpf_map_lookup_elem(&inner_lists, &key);
	if (bpf_map_update_elem(&inner_lists, &key, no_inner_list, BPF_ANY))
		return NULL;
	list = bpf_map_lookup_elem(&inner_lists, &key);
	if (list) {
		list->last_key = t->last_key;
		call->inner = 1;
	}
	return list;
}

/* A number in the list for this key; INNER_BLOCKS: there is none. */
VERIFIED_ONCE_NUMBERS __u32 inner_number(__u32 place, __u64 key)
{
	struct suspended_key list_key = { .tid = bpf_get_current_pid_tgid(), .place = place };
	struct inner_list *list = bpf_map_lookup_elem(&inner_lists, &list_key);
	__u32 i;

	for (i = 0; list && i < INNER_BLOCKS; i++) {
		__u64 old = list->key[i];

		/* What has been freed since leaves its number. */
		if (!old || old == key || !bpf_map_lookup_elem(&inner_blocks, &old))
			return i;
	}
	return INNER_BLOCKS;
}

/* A block has been made inside the suspended call; 0: there is no room for its list. */
VERIFIED_ONCE int inner_add(__u32 slot, __u32 place, __u64 key, const struct abi_block *block)
{
	struct alloc_call *call = suspended_call(place);
	struct abi_proc *proc = proc_by_slot(slot);
	struct thread *t = thread_find();
	struct inner_block inner = { .place = place };
	struct inner_list *list;
	__u32 number;
	__s64 live;

	if (!call || !proc || !t || !block)
		return 0;
	list = inner_list_get(t, call, place);
	if (!list)
		return 0;
	t->last_key = key;
	number = inner_number(place, key);
	inner.block = *block;
	inner.peak_epoch = proc->peak_epoch;
	if (number >= INNER_BLOCKS || bpf_map_update_elem(&inner_blocks, &key, &inner, BPF_ANY)) {
		list->missed++;
		return 1;
	}
	list->key[number] = key;
	list->bytes += ABI_BLOCK_SIZE(&inner.block);
	live = proc->live_bytes + list->bytes;
	if (live > list->most)
		list->most = live;
	return 1;
}

/* Freed inside the call where it was made; 0: it was not. */
VERIFIED_ONCE_NUMBERS int inner_free(__u64 key)
{
	struct suspended_key list_key = { .tid = bpf_get_current_pid_tgid() };
	struct inner_block *found = bpf_map_lookup_elem(&inner_blocks, &key);
	struct thread *t = thread_find();
	struct inner_list *list;
	struct abi_block block;
	__u32 n;

	if (!found || !t)
		return 0;
	list_key.place = found->place;
	block = found->block;
	list = bpf_map_lookup_elem(&inner_lists, &list_key);
	if (!list || bpf_map_delete_elem(&inner_blocks, &key))
		return 0;
	list->bytes -= ABI_BLOCK_SIZE(&block);
	n = list->n_freed;
	if (n < INNER_BLOCKS) {
		list->freed[n] = block;
		list->temporary[n] = t->last_key == key;
		list->n_freed = n + 1;
	} else {
		list->missed++;
	}
	if (t->last_key == key)
		t->last_key = 0;
	return 1;
}

/* The call returns, or is given up. */
VERIFIED_ONCE_NUMBERS int inner_forget(__u32 place)
{
	struct suspended_key key = { .tid = bpf_get_current_pid_tgid(), .place = place };
	struct inner_list *list = bpf_map_lookup_elem(&inner_lists, &key);
	struct thread *t = thread_find();
	int i;

	if (list && t)
		t->last_key = list->last_key;
	for (i = 0; list && i < INNER_BLOCKS; i++) {
		__u64 block = list->key[i];

		if (block)
			bpf_map_delete_elem(&inner_blocks, &block);
	}
	bpf_map_delete_elem(&inner_lists, &key);
	return 0;
}

#endif

#endif
