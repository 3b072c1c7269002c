// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes of allocator functions. Each attach path has its own entry points; what they do is
 * function_entry and function_exit, told by the cookie which function it is.
 */
#include "arguments.bpf.h"
#include "block.bpf.h"
#include "kernel_stack.bpf.h"
#include "knobs.bpf.h"
#include "registers.bpf.h"
#include "return_address.bpf.h"
#include "site.bpf.h"
#include "stack.bpf.h"
#include "thread.bpf.h"

#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

/*
 * A block leaves the books: its site, then the total. Global functions, here and below, are
 * verified once for all their calls, which is most of the time that loading takes.
 */
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
	struct abi_block block;

	if (t->size < knob_min_size || t->size > knob_max_size)
		return;
	if (addr & 7 || addr >= ABI_ADDR_LIMIT || t->size >> 48) {
		proc_lost(proc, ABI_LOST_ADDRESS);
		return;
	}
	block.stack = stack_capture(ctx, proc, slot, at);
	block.size_fn = ABI_SIZE_FN(t->size, t->fn);
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

/* The allocator's own free of what the program has freed already. */
static __always_inline bool is_inner_free(const struct pt_regs *ctx, __u16 fn)
{
	struct abi_inner_free key = {
		.fn = fn,
		.distance = return_address(PT_REGS_SP(ctx), LINK_REGISTER(ctx)) - PT_REGS_IP(ctx),
	};

	return bpf_map_lookup_elem(&inner_frees, &key);
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

	if (!proc || !t || !t->ptr)
		return 0;
	if (t->old_from == BLOCK_UNKNOWN) {
		count_unknown_free(proc);
		return 0;
	}
	count_inherited_free(proc, t->old_from);
	return account_free(slot, &t->old, t->last_key == ABI_BLOCK_KEY(slot, t->ptr));
}

/* realloc(p, 0) that jumps to free(p): the call is over as a free. */
static __always_inline bool free_ends_realloc(__u32 slot, struct thread *t, __u64 addr, __u64 sp)
{
	if (!t->busy || sp != t->sp || t->ptr != addr || t->old_from == BLOCK_UNKNOWN)
		return false;
	t->busy = 0;
	realloc_release(slot, t);
	return true;
}

static __always_inline void free_entry(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
				       __u64 cookie)
{
	__u64 addr = block_argument(ctx, ABI_COOKIE_ARGS(cookie)), sp = PT_REGS_SP(ctx);
	__u16 fn = ABI_COOKIE_FN(cookie);
	enum block_origin origin;
	struct abi_block block;
	bool temporary = false;
	struct thread *t;

	if (!addr)
		return;
	t = thread_get(proc, slot);
	if (t) {
		if (thread_nested(t, sp, fn))
			return;
		if (free_ends_realloc(slot, t, addr, sp))
			return;
		/* An interposed free that calls the next one, or jumps to it. */
		if (t->free_ptr == addr && t->free_fn != fn && sp <= t->free_sp &&
		    t->free_sp - sp < NESTING_RANGE)
			return;
		temporary = t->last_key == ABI_BLOCK_KEY(slot, addr);
		if (temporary)
			t->last_key = 0;
		t->free_ptr = addr;
		t->free_sp = sp;
		t->free_fn = fn;
	}
	origin = block_take(slot, addr, &block);
	if (origin == BLOCK_UNKNOWN) {
		if (!is_inner_free(ctx, fn))
			count_unknown_free(proc);
		return;
	}
	count_inherited_free(proc, origin);
	account_free(slot, &block, temporary);
}

static __always_inline __u8 realloc0_frees(__u64 cookie)
{
	return (ABI_COOKIE_KIND(cookie) & ABI_REALLOC0_FREES) != 0;
}

/* A call of this thread begins that is in no other; what was left in any other way is put right. */
static __always_inline void call_begins(struct thread *t, __u32 slot, __u64 sp, __u64 cookie)
{
	/* A realloc that was left in any other way has not replaced its block. */
	if (t->busy)
		block_put_back(slot, t->ptr, &t->old, t->old_from);
	t->old_from = BLOCK_UNKNOWN;
	t->busy = 1;
	t->sp = sp;
	t->fn = ABI_COOKIE_FN(cookie);
}

/* What a call was asked for. */
static __always_inline void take_request(const struct pt_regs *ctx, struct thread *t, __u64 cookie,
					 __u8 kind)
{
	__u16 args = ABI_COOKIE_ARGS(cookie);

	t->ptr = kind == ABI_ALLOC ? 0 : block_argument(ctx, args);
	t->realloc0_frees = realloc0_frees(cookie);
	t->throws = (ABI_COOKIE_KIND(cookie) & ABI_THROWS) != 0;
	if (kind == ABI_RESIZE) {
		t->size = argument(ctx, args & 0xf);
		t->extra = argument(ctx, args >> 4 & 0xf);
	} else {
		t->size = requested_size(ctx, args);
	}
}

static __always_inline bool replaces_block(__u8 kind)
{
	return kind == ABI_REALLOC || kind == ABI_RESIZE;
}

/* 1 when the call is nested in another: its return need not be seen. */
static __always_inline int alloc_entry(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
				       __u64 cookie)
{
	struct thread *t = thread_get(proc, slot);
	__u8 kind = ABI_COOKIE_KIND(cookie) & ABI_KIND_MASK;
	__u64 sp = PT_REGS_SP(ctx), ptr = block_argument(ctx, ABI_COOKIE_ARGS(cookie)), asked;
	bool taken, jumped;

	if (!t)
		return 1;
	if (thread_nested(t, sp, ABI_COOKIE_FN(cookie))) {
		/* What realloc(p, 0) does is the rule of the innermost one, not of its wrappers. */
		if (kind == ABI_REALLOC && t->ptr == ptr)
			t->realloc0_frees |= realloc0_frees(cookie);
		return 1;
	}
	/* pvalloc that jumps to memalign, for more than it was asked for. */
	jumped = t->busy && sp == t->sp && !t->throws && !t->is_scope &&
		 t->fn != ABI_COOKIE_FN(cookie) && (!t->ptr || t->ptr == ptr);
	/* A wrapper that jumps to the next realloc has taken the block for it. */
	taken = t->busy && sp == t->sp && kind == ABI_REALLOC && t->ptr == ptr;
	if (taken)
		t->fn = ABI_COOKIE_FN(cookie);
	else
		call_begins(t, slot, sp, cookie);
	t->is_scope = 0;
	t->free_ptr = 0;
	asked = t->size;
	take_request(ctx, t, cookie, kind);
	if (jumped)
		t->size = asked;
	/* Inside the call the old address may already be another thread's new block. */
	if (replaces_block(kind) && t->ptr && !taken)
		t->old_from = block_take(slot, t->ptr, &t->old);
	return 0;
}

/*
 * A call inside which nothing is counted: a pool that gives memory back to the allocator below.
 * 1 when it is nested itself.
 */
static __always_inline int scope_entry(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
				       __u64 cookie)
{
	struct thread *t = thread_get(proc, slot);
	__u64 sp = PT_REGS_SP(ctx);

	barrier_var(sp); /* else it is loaded by a chosen pointer, see argument() */
	if (!t || thread_nested(t, sp, ABI_COOKIE_FN(cookie)))
		return 1;
	call_begins(t, slot, sp, cookie);
	t->is_scope = 1;
	t->ptr = 0;
	return 0;
}

/* The old block of a call that replaces it: it is gone, or it stays as it was and is put back. */
static __always_inline void old_block_ends(struct abi_proc *proc, __u32 slot, struct thread *t,
					   bool gone, bool failed)
{
	if (failed)
		__sync_fetch_and_add(&proc->failed, 1);
	if (gone)
		realloc_release(slot, t);
	else
		block_put_back(slot, t->ptr, &t->old, t->old_from);
}

/* The new block of a realloc; 0: there is none, and what that means is done. */
static __always_inline __u64 realloc_result(struct abi_proc *proc, __u32 slot, struct thread *t,
					    __u64 addr, __u8 kind)
{
	bool done = addr || (t->ptr && t->size == 0 && t->realloc0_frees);

	old_block_ends(proc, slot, t, done || (kind & ABI_FAILURE_FREES), !done);
	return addr;
}

/*
 * xallocx returns the block's real size, which is no less than what was asked for at the least
 * where it could do it. What it was asked for on top counts as far as it is there.
 */
static __always_inline __u64 resize_result(struct abi_proc *proc, __u32 slot, struct thread *t,
					   __u64 real)
{
	bool done = real >= t->size;

	old_block_ends(proc, slot, t, done, !done);
	if (!done)
		return 0;
	t->size = real - t->size < t->extra ? real : t->size + t->extra;
	return t->ptr;
}

/* posix_memalign returns 0 and stores the block; anything else is a failure. */
static __always_inline __u64 out_param_result(struct abi_proc *proc, const struct thread *t,
					      __u64 result)
{
	__u64 addr;

	if ((__u32)result) {
		__sync_fetch_and_add(&proc->failed, 1);
		return 0;
	}
	if (!bpf_probe_read_user(&addr, sizeof(addr), (void *)t->ptr) && addr)
		return addr;
	proc_lost(proc, ABI_LOST_OUT_PARAM);
	return 0;
}

static __always_inline __u64 alloc_result(struct abi_proc *proc, __u64 result)
{
	if (!result)
		__sync_fetch_and_add(&proc->failed, 1);
	return result;
}

/* Of strings longer than this the size is not known. */
#define STRING_CHUNK 255
#define STRING_CHUNKS 256

/* Bytes of a string with the 0 at its end; 0: it is longer, or it cannot be read. */
VERIFIED_ONCE __u64 string_bytes(__u64 addr)
{
	char chunk[STRING_CHUNK + 1];
	__u64 before = 0;
	long n;
	int i;

	for (i = 0; i < STRING_CHUNKS; i++, before += STRING_CHUNK) {
		/* A string that is cut gets a 0 as well. */
		n = bpf_probe_read_user_str(chunk, sizeof(chunk), (void *)(addr + before));
		if (n <= 0)
			return 0;
		if (n <= STRING_CHUNK)
			return before + n;
	}
	return 0;
}

static __always_inline __u64 string_result(struct abi_proc *proc, struct thread *t, __u64 addr)
{
	if (!alloc_result(proc, addr))
		return 0;
	t->size = string_bytes(addr);
	if (t->size)
		return addr;
	proc_lost(proc, ABI_LOST_OUT_PARAM);
	return 0;
}

static __always_inline void alloc_exit(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
				       __u64 cookie)
{
	__u8 kind = ABI_COOKIE_KIND(cookie);
	enum stack_at at = kind & ABI_AT_EXIT ? STACK_AT_EXIT : STACK_AT_RETURN;
	__u64 sp = kind & ABI_AT_EXIT ? PT_REGS_SP(ctx) : SP_AT_RETURN(ctx);
	struct thread *t = thread_find();
	__u64 addr;

	if (!t || !t->busy || t->slot != slot || t->sp != sp || t->fn != ABI_COOKIE_FN(cookie))
		return;
	t->busy = 0;
	if (t->is_scope)
		return;
	switch (kind & ABI_KIND_MASK) {
	case ABI_REALLOC:
		addr = realloc_result(proc, slot, t, PT_REGS_RC(ctx), kind);
		break;
	case ABI_RESIZE:
		addr = resize_result(proc, slot, t, PT_REGS_RC(ctx));
		break;
	case ABI_OUT_PARAM:
		addr = out_param_result(proc, t, PT_REGS_RC(ctx));
		break;
	case ABI_STRING:
		addr = string_result(proc, t, PT_REGS_RC(ctx));
		break;
	default:
		addr = alloc_result(proc, PT_REGS_RC(ctx));
	}
	if (addr)
		account_alloc(ctx, proc, slot, t, addr, at);
}

static __always_inline __u8 kind_of(__u64 cookie)
{
	return ABI_COOKIE_KIND(cookie) & ABI_KIND_MASK;
}

static __always_inline bool is_free(__u64 cookie)
{
	return kind_of(cookie) == ABI_FREE;
}

/* 1 when the return of this call need not be seen. */
static __always_inline int function_entry(struct pt_regs *ctx, __u64 cookie)
{
	__u32 slot;
	struct abi_proc *proc = counted_proc(ABI_COOKIE_OWNER(cookie), &slot);

	if (!proc)
		return 1;
	count_event();
	proc_enter_cut(proc);
	if (is_free(cookie) || kind_of(cookie) == ABI_SCOPED_FREE)
		free_entry(ctx, proc, slot, cookie);
	if (is_free(cookie))
		return 1;
	if (kind_of(cookie) >= ABI_SCOPED_FREE)
		return scope_entry(ctx, proc, slot, cookie);
	return alloc_entry(ctx, proc, slot, cookie);
}

/*
 * Owners are told apart at the entry alone: a call whose process changes from its own links to the
 * shared ones meanwhile is still seen by the link that saw its entry.
 */
static __always_inline int function_exit(struct pt_regs *ctx, __u64 cookie)
{
	__u32 owner = ABI_COOKIE_OWNER(cookie), slot;
	struct abi_proc *proc;

	slot = owner ? owner - 1 : slot_of_pid(current_tgid());
	proc = slot == ABI_NO_SLOT ? NULL : proc_by_slot(slot);
	if (!proc || proc->state != ABI_PROC_ACTIVE)
		return 0;
	proc_enter_cut(proc);
	alloc_exit(ctx, proc, slot, cookie);
	return 0;
}

/*
 * At the return, the instruction pointer is in the caller, while the function's address is given at
 * both sides. (The kfunc for this has another signature in Linux 7.2 than in 6.18.)
 */
static __always_inline bool session_is_return(struct pt_regs *ctx)
{
	return PT_REGS_IP(ctx) != bpf_get_func_ip(ctx);
}

/* One program for entry and return (uprobe-multi session link). */
SEC("uprobe")
int on_session(struct pt_regs *ctx)
{
	__u64 cookie = attach_cookie(ctx);

	keep_kernel_stack(ctx);
	/* The return of a free is not probed: which side this is need not be asked. */
	if (is_free(cookie)) {
		if (!knob_floor)
			function_entry(ctx, cookie);
		return 1;
	}
	if (knob_floor)
		return 0;
	if (session_is_return(ctx))
		return function_exit(ctx, cookie);
	return function_entry(ctx, cookie);
}

/* Entry probes and exit sites of the other paths. */
SEC("uprobe")
int on_entry(struct pt_regs *ctx)
{
	__u64 cookie;

	keep_kernel_stack(ctx);
	if (knob_floor)
		return 0;
	cookie = attach_cookie(ctx);
	if (ABI_COOKIE_KIND(cookie) & ABI_AT_EXIT)
		function_exit(ctx, cookie);
	else
		function_entry(ctx, cookie);
	return 0;
}

SEC("uprobe")
int on_return(struct pt_regs *ctx)
{
	keep_kernel_stack(ctx);
	return knob_floor ? 0 : function_exit(ctx, attach_cookie(ctx));
}
