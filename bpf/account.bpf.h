/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How blocks enter and leave the books: their site, then the process's total. Global functions are
 * verified once for all their calls, which is most of the time that loading takes.
 */
#ifndef MEMTRACED_ACCOUNT_BPF_H
#define MEMTRACED_ACCOUNT_BPF_H

#include "block.bpf.h"
#include "knobs.bpf.h"
#include "site.bpf.h"
#include "stack.bpf.h"
#include "thread.bpf.h"

/* A block leaves the books. */
VERIFIED_ONCE int account_free(__u32 slot, const struct abi_block *block, bool temporary)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct site_change change = { .blocks = -1, .temporary = temporary };
	__u32 epoch;

	if (!proc || !block)
		return 0;
	change.bytes = -(__s64)ABI_BLOCK_SIZE(block);
	epoch = peak_epoch_of(proc);
	if (site_apply(proc, slot, ABI_BLOCK_FN(block), block->stack, &change, epoch))
		proc_add_bytes(proc, change.bytes, epoch);
	return 0;
}

/* A block whose free was never seen: its address has just been handed out again. */
static __always_inline void close_stale_block(struct abi_proc *proc, __u32 slot, __u64 key)
{
	struct abi_block stale;

	if (!block_remove(key, &stale))
		return;
	__sync_fetch_and_add(&proc->missed_frees, 1);
	account_free(slot, &stale, false);
}

/* A new block enters the books; false (counted) when there is no room for it. */
VERIFIED_ONCE int account_new(__u32 slot, __u64 key, const struct abi_block *block)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct site_change change = { .blocks = 1, .allocated = true };
	__u32 epoch;
	int r;

	if (!proc || !block)
		return false;
	r = block_insert(key, block);
	if (r == -EEXIST) {
		close_stale_block(proc, slot, key);
		r = block_insert(key, block);
	}
	if (r) {
		proc_lost(proc, ABI_LOST_BLOCK_MAP_FULL);
		return false;
	}
	change.bytes = ABI_BLOCK_SIZE(block);
	epoch = peak_epoch_of(proc);
	if (!site_apply(proc, slot, ABI_BLOCK_FN(block), block->stack, &change, epoch))
		return false;
	proc_add_bytes(proc, change.bytes, epoch);
	return true;
}

static __always_inline void account_alloc(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
					  struct thread *t, __u64 addr, enum stack_at at)
{
	__u64 key = ABI_BLOCK_KEY(slot, addr);
	const struct alloc_call *call = &t->call;
	struct abi_block block;

	if (call->size < knob_min_size || call->size > knob_max_size)
		return;
	if (addr & 7 || addr >= ABI_ADDR_LIMIT || call->size >> ABI_SIZE_BITS) {
		proc_lost(proc, ABI_LOST_ADDRESS);
		return;
	}
	block.stack = stack_capture(ctx, proc, slot, at);
	block.size_fn = ABI_SIZE_FN(call->size, call->form, call->fn);
	block.tick = *(volatile __u32 *)&control.tick;
	block.era = proc->era;
	if (account_new(slot, key, &block))
		t->last_key = key;
}

static __always_inline bool size_filtered(void)
{
	return knob_min_size > 0 || knob_max_size != ~0ULL;
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
		count_unknown_free(proc);
		return 0;
	}
	count_inherited_free(proc, call->old_from);
	return account_free(slot, &call->old, t->last_key == ABI_BLOCK_KEY(slot, call->ptr));
}

#endif
