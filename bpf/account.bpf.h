/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How blocks enter and leave the books: their site, then the process's total. Global functions are
 * verified once for all their calls, which is most of the time that loading takes.
 */
#ifndef MEMTRACED_ACCOUNT_BPF_H
#define MEMTRACED_ACCOUNT_BPF_H

#include "block.bpf.h"
#include "free_pair.bpf.h"
#include "inner.bpf.h"
#include "knobs.bpf.h"
#include "site.bpf.h"
#include "stack.bpf.h"
#include "thread.bpf.h"

/* change: room for it, as programs have little stack. */
static __always_inline int block_leaves(__u32 slot, const struct abi_block *block,
					enum block_end end, struct site_change *change)
{
	struct abi_proc *proc = proc_by_slot(slot);
	__u32 epoch;

	if (!proc || !block || !change)
		return 0;
	if (proc_has_samples(proc))
		__sync_fetch_and_add(&proc->live_samples, -1);
	site_change_of(change, proc, block, -1, false, end);
	epoch = peak_epoch_of(proc);
	if (site_apply(slot, site_function_of(proc, block), block->stack, change, epoch))
		proc_add_bytes(proc, change->bytes, epoch);
	return 0;
}

/* A block leaves the books. */
VERIFIED_ONCE int account_free(__u32 slot, const struct abi_block *block, bool temporary)
{
	struct site_change change;

	return block_leaves(slot, block, block_end(temporary), &change);
}

VERIFIED_ONCE int account_missed(__u32 slot, const struct abi_block *block,
				 struct site_change *change)
{
	return block_leaves(slot, block, BLOCK_FREE_MISSED, change);
}

/*
 * A block whose free was never seen: its address has just been handed out again. Inlined, as calls
 * may not be deeper than eight (MAX_CALL_FRAMES in include/linux/bpf_verifier.h).
 */
static __always_inline void close_stale_block(const struct abi_proc *proc, __u32 slot, __u64 key,
					      struct site_change *change)
{
	struct abi_block stale;

	if (block_remove_own(proc, slot, ABI_BLOCK_ADDR(key), &stale))
		account_missed(slot, &stale, change);
}

/* A new block enters the books; false (counted) when there is no room for it. */
VERIFIED_ONCE int account_new(__u32 slot, __u64 key, const struct abi_block *block)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct site_change change;
	__u32 epoch;
	int r;

	if (!proc || !block)
		return false;
	r = block_insert(key, block);
	if (r == -EEXIST) {
		close_stale_block(proc, slot, key, &change);
		r = block_insert(key, block);
	}
	if (r) {
		count_no_block_room(proc, r);
		return false;
	}
	if (proc_has_samples(proc))
		__sync_fetch_and_add(&proc->live_samples, 1);
	site_change_of(&change, proc, block, 1, true, BLOCK_FREED);
	epoch = peak_epoch_of(proc);
	if (!site_apply(slot, site_function_of(proc, block), block->stack, &change, epoch))
		return false;
	proc_add_bytes(proc, change.bytes, epoch);
	return true;
}

/*
 * A call that can end by an exception is over and has not returned: there was no memory, or its
 * handler jumped away. One inside another call counts with that.
 */
static __always_inline void call_failed_if_left(struct abi_proc *proc,
						const struct alloc_call *call)
{
	if (proc && call && call->throws && !call->within)
		__sync_fetch_and_add(&proc->failed, 1);
}

#ifdef OLD_KERNEL

static __always_inline int inner_add(__u32 slot, __u32 place, __u64 key,
				     const struct abi_block *block)
{
	(void)slot, (void)place, (void)key, (void)block;
	return 0;
}

/* No blocks are kept for later there. */
static __always_inline int inner_enters(__u32 slot, __u64 key)
{
	(void)slot, (void)key;
	return 0;
}

static __always_inline int inner_free(__u64 key)
{
	(void)key;
	return 0;
}

static __always_inline int inner_forget(__u32 place)
{
	(void)place;
	return 0;
}

static __always_inline int call_left(__u32 slot, __u32 place)
{
	(void)slot, (void)place;
	return 0;
}

static __always_inline void thread_ends_calls(__u32 slot)
{
	(void)slot;
}

#else

/* A block that was made inside a call is the program's; 0: there is none of this key. */
VERIFIED_ONCE_NUMBERS int inner_enters(__u32 slot, __u64 key)
{
	struct inner_block *found = bpf_map_lookup_elem(&inner_blocks, &key);
	struct abi_proc *proc = proc_by_slot(slot);
	struct abi_block block;
	__u32 peak_epoch;

	if (!found || !proc)
		return 0;
	block = found->block;
	peak_epoch = found->peak_epoch;
	if (bpf_map_delete_elem(&inner_blocks, &key) || !account_new(slot, key, &block))
		return 0;
	/* It comes after a peak that it was part of. */
	if (peak_epoch != peak_epoch_of(proc))
		__sync_fetch_and_add(&proc->race_bytes, ABI_BLOCK_SIZE(&block));
	return 1;
}

/* A block that was made and freed inside a call. */
VERIFIED_ONCE int account_past(__u32 slot, const struct abi_block *block, __u32 temporary)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct site_change change;

	if (!proc || !block)
		return 0;
	site_change(&change, ABI_BLOCK_SIZE(block), 1, true, BLOCK_FREED);
	if (!site_apply(slot, ABI_BLOCK_FN(block), block->stack, &change, peak_epoch_of(proc)))
		return 0;
	if (knob_free_stacks)
		pair_add(slot, 0, block, 0, 0);
	site_change(&change, -change.bytes, -1, false, block_end(temporary));
	return site_apply(slot, ABI_BLOCK_FN(block), block->stack, &change, peak_epoch_of(proc));
}

/* The process has held that much inside a call, of which part was freed before it was known. */
static __always_inline void peak_was(struct abi_proc *proc, __s64 most)
{
	__s64 peak = *(volatile __s64 *)&proc->peak_bytes;

	if (most <= peak || __sync_val_compare_and_swap(&proc->peak_bytes, peak, most) != peak)
		return;
	__sync_fetch_and_add(&proc->race_bytes, most - *(volatile __s64 *)&proc->live_bytes);
	__sync_fetch_and_add(&proc->peak_epoch, 1);
}

/* The n-th of what was freed, and of what was made, inside the call of this place. */
VERIFIED_ONCE_NUMBERS int inner_told(__u32 slot, __u32 place, __u32 n)
{
	struct suspended_key key = { .tid = bpf_get_current_pid_tgid(), .place = place };
	struct inner_list *list = bpf_map_lookup_elem(&inner_lists, &key);

	if (!list || n >= INNER_BLOCKS)
		return 0;
	if (n < list->n_freed)
		account_past(slot, &list->freed[n], list->temporary[n]);
	if (list->key[n])
		inner_enters(slot, list->key[n]);
	return 0;
}

/* call_failed_if_left(), apart: call_left() has no room left on the stack. */
VERIFIED_ONCE_NUMBERS int suspended_failed(__u32 slot, __u32 place)
{
	call_failed_if_left(proc_by_slot(slot), suspended_call(place));
	return 0;
}

/* The suspended call has been left: it has failed, and what was made inside it enters the books. */
VERIFIED_ONCE_NUMBERS int call_left(__u32 slot, __u32 place)
{
	struct suspended_key key = { .tid = bpf_get_current_pid_tgid(), .place = place };
	struct inner_list *list = bpf_map_lookup_elem(&inner_lists, &key);
	struct abi_proc *proc = proc_by_slot(slot);
	struct thread *t = thread_find();
	int i;

	if (!t || !proc)
		return 0;
	suspended_failed(slot, place);
	for (i = 0; list && i < INNER_BLOCKS; i++)
		inner_told(slot, place, i);
	if (list) {
		peak_was(proc, list->most);
		if (list->missed)
			proc_lost(proc, ABI_LOST_INFLIGHT);
	}
	bpf_map_delete_elem(&inner_lists, &key);
	t->suspended_sp[place & (SUSPENDED_CALLS - 1)] = 0;
	t->suspended--;
	return 0;
}

VERIFIED_ONCE_NUMBERS int thread_ends_suspended(__u32 slot, __u32 place)
{
	struct alloc_call *call = suspended_call(place);
	struct thread *t = thread_find();

	place &= SUSPENDED_CALLS - 1;
	if (!t || !call || !call->inner)
		return 0;
	/* Else it is of an image that was replaced. */
	if (t->slot == slot && t->suspended_sp[place])
		call_left(slot, place);
	else
		inner_forget(place);
	return 0;
}

/* What the thread is in will never return: it ends. */
static __always_inline void thread_ends_calls(__u32 slot)
{
	int i;

	for (i = 0; i < SUSPENDED_CALLS; i++)
		thread_ends_suspended(slot, i);
}

#endif

/* Whether it is known from now on: in the books, or set aside. */
static __always_inline bool account_alloc(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
					  struct thread *t, __u64 addr, enum stack_at at)
{
	__u64 key = ABI_BLOCK_KEY(slot, addr);
	const struct alloc_call *call = &t->call;
	struct abi_block block;

	if (!abi_block_is_tracked(&knob_block_filter, call->size))
		return false;
	if (addr & 7 || addr >= ABI_ADDR_LIMIT || call->size >> ABI_SIZE_BITS) {
		proc_lost(proc, ABI_LOST_ADDRESS);
		return false;
	}
	block.stack = stack_capture(ctx, proc, slot, at);
	block.size_fn = ABI_SIZE_FN(call->size, call->form, call->fn);
	block.tick = *(volatile __u32 *)&control.tick;
	block.era = proc->era;
	if (call->within) {
		if (inner_add(slot, call->within - 1, key, &block))
			return true;
		proc_lost(proc, ABI_LOST_INFLIGHT);
		return false;
	}
	if (!account_new(slot, key, &block))
		return false;
	t->last_key = key;
	return true;
}

static __always_inline bool size_filtered(void)
{
	return !abi_block_filter_is_open(&knob_block_filter);
}

static __always_inline void count_unknown_free(struct abi_proc *proc)
{
	/* With a size filter, frees of blocks outside it are expected. */
	if (!size_filtered())
		__sync_fetch_and_add(&proc->unknown_frees, 1);
}

static __always_inline void count_inherited_free(struct abi_proc *proc, enum block_origin origin)
{
	if (origin == BLOCK_INHERITED)
		__sync_fetch_and_add(&proc->inherited_frees, 1);
}

/* The old block of a successful realloc is gone. */
VERIFIED_ONCE int realloc_release(__u32 slot, const struct thread *t)
{
	struct abi_proc *proc = proc_by_slot(slot);
	const struct alloc_call *call;

	if (!proc || !t || !t->call.ptr)
		return 0;
	call = &t->call;
	if (call->old_from == BLOCK_UNKNOWN) {
		/* The call that this one is within has taken it. */
		if (!call->within)
			count_unknown_free(proc);
		return 0;
	}
	count_inherited_free(proc, call->old_from);
	return account_free(slot, &call->old, t->last_key == ABI_BLOCK_KEY(slot, call->ptr));
}

#endif
