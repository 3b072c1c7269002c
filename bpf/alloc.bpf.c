// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes of allocator functions. Each attach path has its own entry points; what they do is
 * function_entry and function_exit, told by the cookie which function it is.
 */
#include "account.bpf.h"
#include "arguments.bpf.h"
#include "code_watch.bpf.h"
#include "heap_error.bpf.h"
#include "inner_free.bpf.h"
#include "kernel_stack.bpf.h"
#include "nesting.bpf.h"
#include "registers.bpf.h"
#include "result.bpf.h"
#include "result_site.bpf.h"
#include "return_address.bpf.h"
#include "sample.bpf.h"
#include "wanted.bpf.h"

#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

/* realloc(p, 0) that jumps to free(p): the call is over as a free. */
static __always_inline bool free_ends_realloc(__u32 slot, struct thread *t, __u64 addr, __u64 sp)
{
	const struct alloc_call *call = &t->call;

	if (!t->busy || sp != call->sp || call->ptr != addr || call->old_from == BLOCK_UNKNOWN)
		return false;
	t->busy = 0;
	realloc_release(slot, t);
	return true;
}

/* Where a block was freed is asked for. */
static __always_inline void block_ended(struct fault *fault, __u32 slot, __u64 birth_addr)
{
	fault->ended = true;
	fault->birth_key = ABI_BLOCK_KEY(slot, birth_addr);
}

/*
 * What an allocator call frees: memory of its own, which is not in the books, or what is (operator
 * new, of which a handler has given back what it held in reserve); 1: *ret was, and is no more.
 */
VERIFIED_ONCE int nested_free(__u32 slot, __u64 addr, struct abi_block *ret)
{
	struct abi_proc *proc = proc_by_slot(slot);
	int origin;

	if (!proc || !ret)
		return 0;
	origin = block_take(slot, addr, ret);
	if (origin == BLOCK_UNKNOWN) {
		inner_free(ABI_BLOCK_KEY(slot, addr));
		return 0;
	}
	count_inherited_free(proc, origin);
	account_free(slot, ret, false);
	return 1;
}

/* block_take() of a block that may have been made inside a call which was left since. */
static __always_inline int take_any(__u32 slot, __u64 addr, struct abi_block *ret)
{
	int origin = block_take(slot, addr, ret);

	if (origin != BLOCK_UNKNOWN || !inner_enters(slot, ABI_BLOCK_KEY(slot, addr)))
		return origin;
	return block_take(slot, addr, ret);
}

/* The block that the thread's call replaces. */
VERIFIED_ONCE_NUMBERS int take_replaced(__u32 slot)
{
	struct thread *t = thread_find();
	struct alloc_call *call;

	if (!t)
		return 0;
	call = &t->call;
	if (call->within && inner_free(ABI_BLOCK_KEY(slot, call->ptr)))
		call->ptr = 0;
	else
		call->old_from = take_any(slot, call->ptr, &call->old);
	return 0;
}

/* The form of a free, whose mark is done with: another one may be made from the same place. */
static __always_inline __u32 form_of_free(struct pt_regs *ctx, __u32 slot, __u64 sp)
{
	__u64 fp = PT_REGS_FP(ctx), link = LINK_REGISTER(ctx);
	__u32 form = call_form(slot, sp, fp, link, FORM_OF_FREES);

	if (form_is_of_mark(form))
		mark_used(slot, FORM_OF_FREES);
	return form;
}

/* nested: what thread_nested() has said. */
static __always_inline void free_entry(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
				       struct thread *t, __u64 cookie, int nested,
				       struct fault *fault)
{
	__u64 addr = block_argument(ctx, ABI_COOKIE_ARGS(cookie)), sp = entry_sp(ctx, cookie);
	__u16 fn = ABI_COOKIE_FN(cookie);
	__u32 form = knob_forms ? form_of_free(ctx, slot, sp) : ABI_FORM_OWN;
	enum block_origin origin;
	bool temporary = false;

	if (!addr)
		return;
	if (nested) {
		if (nested_free(slot, addr, &fault->block) && knob_free_stacks)
			block_ended(fault, slot, addr);
		return;
	}
	if (t) {
		if (free_ends_realloc(slot, t, addr, sp)) {
			if (knob_free_stacks) {
				fault->block = t->call.old;
				block_ended(fault, slot, sp);
			}
			return;
		}
		/* An interposed free that calls the next one, or jumps to it. */
		if (t->free_ptr == addr && t->free_fn != fn && sp <= t->free_sp &&
		    t->free_sp - sp < NESTING_RANGE)
			return;
		temporary = t->last_key == ABI_BLOCK_KEY(slot, addr);
		if (temporary)
			t->last_key = 0;
		t->free_sp = sp | (t->free_ptr == addr && t->free_fn == fn &&
				   (t->free_sp & ~FREED_AGAIN) == sp);
		t->free_ptr = addr;
		t->free_fn = fn;
	}
	origin = take_any(slot, addr, &fault->block);
	if (origin == BLOCK_UNKNOWN) {
		if (is_inner_free(return_address(sp, LINK_REGISTER(ctx)), PT_REGS_IP(ctx), fn))
			return;
		count_unknown_free(proc);
		fault->kind = fault_of_unknown(slot, addr, fn);
		fault->addr = addr;
		return;
	}
	count_inherited_free(proc, origin);
	account_free(slot, &fault->block, temporary);
	if (is_foreign(&fault->block, fn))
		fault->kind = ABI_FOREIGN_FREE;
	else if (knob_forms && is_mismatched(&fault->block, form, fn))
		fault->kind = ABI_MISMATCHED_FREE;
	if (fault->kind)
		fault->addr = addr;
	if (knob_heap_errors) {
		fault->freed = true;
		fault->addr = addr;
	}
	if (knob_free_stacks)
		block_ended(fault, slot, addr);
}

static __always_inline __u8 realloc0_frees(__u64 cookie)
{
	return (ABI_COOKIE_KIND(cookie) & ABI_REALLOC0_FREES) != 0;
}

/* A call of this thread begins that is in no other, unless call_begins_within() has said so. */
static __always_inline void call_begins_at(struct thread *t, __u64 cookie, __u64 sp, __u64 fp,
					   __u64 link)
{
	struct alloc_call *call = &t->call;
	bool again = t->busy && call->sp == sp && call->fn == ABI_COOKIE_FN(cookie);

	if (t->busy)
		call_drop(t);
	call->old_from = BLOCK_UNKNOWN;
	t->busy = 1;
	call->sp = sp;
	call->fp = fp;
	call->fn = ABI_COOKIE_FN(cookie);
	call->guessed = 0;
	call->signal_below = 0;
	call->by_sites = (cookie & ABI_COOKIE_BY_SITES) != 0;
	if (call->by_sites)
		call->link = return_address(sp, link);
	call_compares(call, ABI_COOKIE_FN(cookie), again);
}

static __always_inline void call_begins(const struct pt_regs *ctx, struct thread *t, __u64 cookie)
{
	__u64 sp = PT_REGS_SP(ctx), fp = PT_REGS_FP(ctx), link = LINK_REGISTER(ctx);

	barrier_var(sp); /* else it is loaded by a chosen pointer, see argument() */
	barrier_var(fp);
	barrier_var(link);
	call_begins_at(t, cookie, sp, fp, link);
}

/* What a call was asked for. */
static __always_inline void take_request(const struct pt_regs *ctx, struct thread *t, __u64 cookie)
{
	struct alloc_call *call = &t->call;
	__u16 args = STORED(call->args);

	call->ptr = STORED(call->kind) == ABI_ALLOC ? 0 : block_argument(ctx, args);
	call->realloc0_frees = realloc0_frees(cookie);
	call->throws = (ABI_COOKIE_KIND(cookie) & ABI_THROWS) != 0;
	call->is_product = false;
	args = STORED(call->args);
	if (STORED(call->kind) == ABI_RESIZE) {
		call->size = argument(ctx, args & 0xf);
		call->extra = argument(ctx, args >> 4 & 0xf);
	} else {
		call->size = requested_size(ctx, args);
		call->is_product = size_is_product(ctx, args);
	}
}

static __always_inline bool replaces_block(__u8 kind)
{
	return kind == ABI_REALLOC || kind == ABI_RESIZE;
}

/* Of calloc and reallocarray, whose product is too large, the program is told by NULL. */
static __always_inline bool is_suspicious(const struct alloc_call *call)
{
	return (__s64)call->size < 0 && !call->is_product;
}

/* What is wrong about the request that has just been taken. */
static __always_inline void fault_of_request(const struct alloc_call *call, __u32 slot, __u8 kind,
					     struct fault *fault)
{
	bool replaces = replaces_block(kind) && call->ptr;

	fault->addr = replaces ? call->ptr : 0;
	fault->size = call->size;
	if (replaces && call->old_from == BLOCK_UNKNOWN)
		fault->kind = fault_of_unknown(slot, call->ptr, call->fn);
	else if (replaces && is_foreign(&call->old, call->fn))
		fault->kind = ABI_FOREIGN_FREE;
	else if (knob_forms && replaces && is_mismatched(&call->old, ABI_FORM_OWN, call->fn))
		fault->kind = ABI_MISMATCHED_FREE;
	else if (kind == ABI_REALLOC && call->ptr && !call->size)
		fault->kind = ABI_REALLOC_ZERO;
	else if (is_suspicious(call))
		fault->kind = ABI_SUSPICIOUS_SIZE;
}

static __always_inline void find_what_goes_on(struct thread *t, __u64 sp, __u64 ptr, __u64 cookie)
{
	const struct alloc_call *call = &t->call;
	__u8 goes_on = 0;

	if (t->busy && sp == call->sp && (!call->ptr || call->ptr == ptr)) {
		/* pvalloc that jumps to memalign, for more than it was asked for. */
		if (!call->throws && !call->is_scope && call->fn != ABI_COOKIE_FN(cookie))
			goes_on |= GOES_ON_SIZE;
		/* A wrapper that jumps to the next realloc has taken the block for it. */
		if (STORED(call->kind) == ABI_REALLOC && call->ptr == ptr)
			goes_on |= GOES_ON_BLOCK;
	}
	STORED(t->call.goes_on) = goes_on;
}

/*
 * 1 when the call is nested in another: its return need not be seen. nested: what thread_nested()
 * has said.
 */
static __always_inline int alloc_entry(struct pt_regs *ctx, __u32 slot, struct thread *t,
				       __u64 cookie, int nested, struct fault *fault)
{
	__u8 kind = ABI_COOKIE_KIND(cookie) & ABI_KIND_MASK;
	__u64 sp = PT_REGS_SP(ctx), ptr = block_argument(ctx, ABI_COOKIE_ARGS(cookie)), asked;
	struct alloc_call *call;

	if (!t)
		return 1;
	call = &t->call;
	if (nested) {
		/* What realloc(p, 0) does is the rule of the innermost one, not of its wrappers. */
		if (kind == ABI_REALLOC && t->busy && call->ptr == ptr)
			call->realloc0_frees |= realloc0_frees(cookie);
		if (kind == ABI_RESIZE || !call_begins_within(slot, nested)) {
			if (nested & CALL_GUESSED)
				call_guessed(slot, nested, sp);
			return 1;
		}
	}
	STORED(call->kind) = kind;
	STORED(call->args) = ABI_COOKIE_ARGS(cookie);
	find_what_goes_on(t, sp, ptr, cookie);
	if (STORED(call->goes_on) & GOES_ON_BLOCK)
		call->fn = ABI_COOKIE_FN(cookie);
	else
		call_begins(ctx, t, cookie);
	call->is_scope = 0;
	t->free_ptr = 0;
	asked = call->size;
	take_request(ctx, t, cookie);
	if (STORED(call->goes_on) & GOES_ON_SIZE)
		call->size = asked;
	call->form = ABI_FORM_OWN;
	if (knob_forms && !replaces_block(STORED(call->kind)))
		call->form =
			call_form(slot, sp, PT_REGS_FP(ctx), LINK_REGISTER(ctx), FORM_OF_ALLOCS);
	/* Inside the call the old address may already be another thread's new block. */
	if (replaces_block(STORED(call->kind)) && call->ptr &&
	    !(STORED(call->goes_on) & GOES_ON_BLOCK))
		take_replaced(slot);
	if (knob_free_stacks && call->old_from && !(STORED(call->goes_on) & GOES_ON_BLOCK))
		birth_move(ABI_BLOCK_KEY(slot, call->ptr), ABI_BLOCK_KEY(slot, sp));
	if (!(STORED(call->goes_on) & GOES_ON_BLOCK) && !call->within)
		fault_of_request(call, slot, STORED(call->kind), fault);
	return 0;
}

/*
 * A call inside which nothing is counted: a pool that gives memory back to the allocator below.
 * 1 when it is nested itself.
 */
static __always_inline int scope_entry(struct pt_regs *ctx, struct thread *t, __u64 cookie,
				       int nested)
{
	if (!t || nested)
		return 1;
	call_begins(ctx, t, cookie);
	t->call.is_scope = 1;
	t->call.throws = 0;
	t->call.ptr = 0;
	return 0;
}

/* A block has left the books here. The stack is walked apart: see probe_stack(). */
static __always_inline void pair_note(struct pt_regs *ctx, __u32 slot, __u32 fn, __u64 birth_key,
				      const struct abi_block *block, __u32 at)
{
	__u64 stack = probe_stack((void *)ctx, slot, at);

	pair_add(slot, birth_key, block, stack, fn);
}

/* --free-stacks: the block that a realloc has taken is gone, or has its birth again. */
static __always_inline void old_block_ended(struct pt_regs *ctx, __u32 slot, const struct thread *t,
					    enum stack_at at)
{
	__u64 birth_key = ABI_BLOCK_KEY(slot, t->call.sp);

	if (t->call.released)
		pair_note(ctx, slot, t->call.fn, birth_key, &t->call.old, at);
	else
		birth_move(birth_key, ABI_BLOCK_KEY(slot, t->call.ptr));
}

/* The block that there is now, by what the call has returned; 0: there is none. */
static __always_inline __u64 result_of(struct abi_proc *proc, __u32 slot, struct thread *t,
				       __u64 returned, __u8 kind)
{
	switch (kind & ABI_KIND_MASK) {
	case ABI_REALLOC:
		return realloc_result(proc, slot, t, returned, kind);
	case ABI_RESIZE:
		return resize_result(proc, slot, t, returned);
	case ABI_OUT_PARAM:
		return out_param_result(proc, t, returned);
	case ABI_STRING:
		return string_result(proc, t, returned);
	default:
		return alloc_result(proc, t, returned);
	}
}

static __always_inline void alloc_exit(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
				       __u64 cookie)
{
	__u8 kind = ABI_COOKIE_KIND(cookie);
	__u64 sp = kind & ABI_AT_EXIT ? PT_REGS_SP(ctx) : SP_AT_RETURN(ctx);
	struct thread *t = thread_find();
	struct fault fault = {};
	enum stack_at at;
	__u64 addr;

	if (!t || !thread_leaves(t, slot, sp, ABI_COOKIE_FN(cookie)))
		return;
	call_returns(proc, t);
	if (t->call.is_scope)
		return;
	if (t->call.is_compared)
		call_compared(&t->call, PT_REGS_RC(ctx));
	t->call.failed = 0;
	t->call.released = 0;
	STORED(t->call.kind) = kind;
	STORED(t->call.result) = result_of(proc, slot, t, PT_REGS_RC(ctx), kind);
	at = STORED(t->call.kind) & ABI_AT_EXIT ? STACK_AT_EXIT : STACK_AT_RETURN;
	addr = STORED(t->call.result);
	if (addr && account_alloc(ctx, proc, slot, t, addr, at) && knob_free_stacks)
		birth_note(ABI_BLOCK_KEY(slot, addr));
	if (knob_free_stacks && t->call.old_from)
		old_block_ended(ctx, slot, t, at);
	/* When there was no memory, new may call its handler, and then malloc once more. */
	if (knob_forms && addr && form_is_of_mark(t->call.form))
		mark_used(slot, FORM_OF_ALLOCS);
	if (knob_heap_errors && addr && t->call.old_from && t->call.ptr != addr) {
		fault.addr = t->call.ptr;
		fault.block = t->call.old;
		remember_free(ctx, slot, t->call.fn, &fault, at);
	}
	/* What was wrong about the size has been said at the entry. */
	if (!t->call.failed || is_suspicious(&t->call))
		return;
	fault.size = t->call.size;
	heap_error(ctx, slot, ABI_FAILED_ALLOCATION << 16 | t->call.fn, &fault, at);
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
	__u32 slot, at;
	struct abi_proc *proc = counted_proc(ABI_COOKIE_OWNER(cookie), &slot);
	struct fault fault = {};
	int r = 1, nested = CALL_APART;
	struct thread *t;

	if (!proc && knob_scope != ABI_SCOPE_PROCESSES)
		proc = newcomer(&slot);
	if (!proc || proc_has_samples(proc))
		return 1;
	count_event();
	proc_enter_cut(proc);
	t = thread_get(slot);
	if (t)
		nested = thread_nested(ctx, t, slot, ABI_COOKIE_FN(cookie), entry_sp(ctx, cookie));
	if (is_free(cookie) || kind_of(cookie) == ABI_SCOPED_FREE)
		free_entry(ctx, proc, slot, t, cookie, nested, &fault);
	if (kind_of(cookie) >= ABI_SCOPED_FREE)
		r = scope_entry(ctx, t, cookie, nested);
	else if (!is_free(cookie))
		r = alloc_entry(ctx, slot, t, cookie, nested, &fault);
	/* The return address is where it will be at the exit. */
	at = STACK_BELOW_ENTRY(words_below_entry(cookie));
	if (fault.kind)
		heap_error(ctx, slot, fault.kind << 16 | ABI_COOKIE_FN(cookie), &fault, at);
	if (knob_heap_errors && fault.freed)
		remember_free(ctx, slot, ABI_COOKIE_FN(cookie), &fault, at);
	if (knob_free_stacks && fault.ended)
		pair_note(ctx, slot, ABI_COOKIE_FN(cookie), fault.birth_key, &fault.block, at);
	return r;
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
	if (!proc || proc->state != ABI_PROC_ACTIVE || proc_has_samples(proc))
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
	int r;

	keep_kernel_stack(ctx);
	if (knob_floor)
		return is_free(cookie);
	/* The return of a free is not probed: which side this is need not be asked. */
	if (!is_free(cookie) && session_is_return(ctx))
		return function_exit(ctx, cookie);
	r = function_entry(ctx, cookie);
	barrier_var(r); /* kept on the stack meanwhile, it has no bounds for the verifier */
	return r & 1;
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

/* A call that a site sees first: as alloc_entry(). */
static __always_inline void site_call_begins(struct thread *t, __u64 cookie, __u64 sp, __u64 fp)
{
	struct alloc_call *call = &t->call;
	/* As in find_what_goes_on(). */
	bool goes_on = t->busy && sp == call->sp && !call->ptr && !call->throws &&
		       !call->is_scope && call->fn != ABI_COOKIE_FN(cookie);

	call_begins_at(t, cookie, sp, fp, 0);
	call->goes_on = goes_on ? GOES_ON_SIZE : 0;
	call->ptr = 0;
	call->is_scope = 0;
	call->throws = (ABI_COOKIE_KIND(cookie) & ABI_THROWS) != 0;
	call->realloc0_frees = 0;
	call->is_product = false;
	call->form = ABI_FORM_OWN;
	t->free_ptr = 0;
}

static __always_inline void site_suspects(struct pt_regs *ctx, __u32 slot, const struct thread *t,
					  __u16 fn)
{
	struct fault fault = { .size = t->call.size };

	if (is_suspicious(&t->call))
		heap_error(ctx, slot, ABI_SUSPICIOUS_SIZE << 16 | fn, &fault, STACK_AT_SITE);
}

/*
 * The call at whose site the thread is begins there, unless it has been seen to begin before; 0: it
 * is not counted, or nobody has seen that.
 */
static __always_inline int site_entry(struct pt_regs *ctx, const struct abi_result_site *site,
				      __u32 slot, struct thread *t, __u64 cookie)
{
	__u64 sp = PT_REGS_SP(ctx) + site->sp_distance, fp = 0, size = 0;
	__u16 fn = ABI_COOKIE_FN(cookie);
	struct alloc_call *call = &t->call;
	int nested;

	if (knob_unwind && !site_value(ctx, &site->fp, &fp))
		return 0;
	if (thread_leaves(t, slot, sp, fn)) {
		call->fp = fp;
		if (site_begins(site) && site_size(ctx, site, &size) &&
		    !(STORED(call->goes_on) & GOES_ON_SIZE))
			call->size = size;
		return 1;
	}
	if (!site_begins(site) || !site_size(ctx, site, &size))
		return 0;
	count_event();
	nested = thread_nested_at(t, slot, fn, sp, fp, 0);
	if (nested && !call_begins_within(slot, nested)) {
		if (nested & CALL_GUESSED)
			call_guessed(slot, nested, sp);
		return 0;
	}
	site_call_begins(t, cookie, sp, fp);
	if (site->is_product)
		call->is_product = site_size_is_product(ctx, site);
	if (!(STORED(call->goes_on) & GOES_ON_SIZE))
		call->size = size;
	if (!call->within)
		site_suspects(ctx, slot, t, fn);
	return 1;
}

/*
 * The same of a call that one site sees, when the thread is in no other: what is asked of it until
 * it has been counted.
 */
static __always_inline int site_whole(struct pt_regs *ctx, const struct abi_result_site *site,
				      __u32 slot, struct thread *t, __u64 cookie)
{
	struct alloc_call *call = &t->call;
	__u64 fp = 0, size = 0;

	if ((knob_unwind && !site_value(ctx, &site->fp, &fp)) || !site_size(ctx, site, &size))
		return 0;
	count_event();
	call->sp = PT_REGS_SP(ctx) + site->sp_distance;
	call->fp = fp;
	call->size = size;
	call->fn = ABI_COOKIE_FN(cookie);
	call->form = ABI_FORM_OWN;
	call->guessed = 0;
	call->is_product = site->is_product && site_size_is_product(ctx, site);
	t->free_ptr = 0;
	site_suspects(ctx, slot, t, ABI_COOKIE_FN(cookie));
	return 1;
}

/* The same as alloc_exit(), where the result is known. */
static __always_inline void site_exit(struct pt_regs *ctx, const struct abi_result_site *site,
				      struct abi_proc *proc, __u32 slot, struct thread *t)
{
	struct fault fault = {};
	__u64 addr = 0;

	call_returns(proc, t);
	t->call.failed = 0;
	if (!site_value(ctx, &site->result, &addr)) {
		proc_lost(proc, ABI_LOST_OUT_PARAM);
		return;
	}
	STORED(t->call.result) = alloc_result(proc, t, addr);
	if (addr && account_alloc(ctx, proc, slot, t, addr, STACK_AT_SITE) && knob_free_stacks)
		birth_note(ABI_BLOCK_KEY(slot, addr));
	if (!t->call.failed || is_suspicious(&t->call))
		return;
	fault.size = t->call.size;
	heap_error(ctx, slot, ABI_FAILED_ALLOCATION << 16 | t->call.fn, &fault, STACK_AT_SITE);
}

/* Probes inside allocator functions: result_site.bpf.h. */
SEC("uprobe")
int on_result(struct pt_regs *ctx)
{
	const struct abi_result_site *site;
	struct abi_proc *proc;
	struct thread *t;
	__u64 cookie;
	__u32 slot, at;

	keep_kernel_stack(ctx);
	if (knob_floor)
		return 0;
	cookie = attach_cookie(ctx);
	at = ABI_COOKIE_ARGS(cookie);
	site = bpf_map_lookup_elem(&result_sites, &at);
	if (!site || !site_counts(ctx, site, ABI_COOKIE_FN(cookie)))
		return 0;
	proc = counted_proc(ABI_COOKIE_OWNER(cookie), &slot);
	if (!proc && knob_scope != ABI_SCOPE_PROCESSES)
		proc = newcomer(&slot);
	if (!proc || proc_has_samples(proc))
		return 0;
	proc_enter_cut(proc);
	t = thread_get(slot);
	if (!t)
		return 0;
	if (is_checked(ABI_COOKIE_FN(cookie)))
		site_compares(ctx, site, t, ABI_COOKIE_FN(cookie));
	else if (site->kind == ABI_RESULT_WHOLE && !t->busy && !t->suspended ?
			 site_whole(ctx, site, slot, t, cookie) :
			 site_entry(ctx, site, slot, t, cookie) && site_ends(site))
		site_exit(ctx, site, proc, slot, t);
	return 0;
}

/* C++'s functions that hand on to C's: form.bpf.h. */
SEC("uprobe")
int on_mark(struct pt_regs *ctx)
{
	__u64 cookie;
	__u32 slot;

	keep_kernel_stack(ctx);
	if (!knob_forms)
		return 0;
	cookie = attach_cookie(ctx);
	if (ABI_MARK_DELETES(cookie) && !PT_REGS_PARM1(ctx))
		return 0; /* nothing needs be freed by it */
	if (counted_proc(ABI_COOKIE_OWNER(cookie), &slot))
		mark_add(slot, PT_REGS_SP(ctx), PT_REGS_FP(ctx), LINK_REGISTER(ctx),
			 ABI_COOKIE_ARGS(cookie));
	return 0;
}

/* Probes that show samples: sample.bpf.h. */
SEC("uprobe")
int on_sample(struct pt_regs *ctx)
{
	const struct abi_sample_spec *spec;
	struct abi_proc *proc;
	__u64 cookie;
	__u32 slot, at;

	keep_kernel_stack(ctx);
	if (!knob_sampled)
		return 0;
	cookie = attach_cookie(ctx);
	at = ABI_COOKIE_ARGS(cookie);
	spec = bpf_map_lookup_elem(&sample_specs, &at);
	proc = counted_proc(ABI_COOKIE_OWNER(cookie), &slot);
	if (!proc && knob_scope != ABI_SCOPE_PROCESSES)
		proc = newcomer(&slot);
	if (!proc || !spec || !proc_has_samples(proc))
		return 0;
	count_event();
	proc_enter_cut(proc);
	if ((ABI_COOKIE_KIND(cookie) & ABI_KIND_MASK) == ABI_SAMPLE_FREE) {
		sample_free(ctx, proc, slot, spec);
		return 0;
	}
	/* Of frees no stack is taken. */
	if (code_is_watched())
		watch_code(proc, slot, false);
	sample_alloc(ctx, proc, slot, spec);
	return 0;
}
