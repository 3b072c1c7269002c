/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is an allocator call inside another one? A thread may have begun calls that it never ends (left
 * by an exception or longjmp) and such as it ends much later (interrupted by a signal, on another
 * stack). Where the stack can be walked, it is read off the stack: a call is inside another if the
 * walk from it meets the other's return address, in its place, with no signal between. A call that
 * the walk goes past is over. All others are suspended until they return.
 *
 * Where it cannot be walked it is a guess, and what is then not counted is a loss until the other
 * call returns, which proves that it had not been left.
 */
#ifndef MEMTRACED_NESTING_BPF_H
#define MEMTRACED_NESTING_BPF_H

#include "account.bpf.h"
#include "nesting_walk.bpf.h"
#include "thread.bpf.h"

/* The thread's call is over, in whatever way: a realloc has not replaced its block then. */
static __always_inline void call_drop(struct thread *t)
{
	struct alloc_call *call = &t->call;

	if (knob_free_stacks && call->old_from != BLOCK_UNKNOWN)
		birth_move(ABI_BLOCK_KEY(t->slot, call->sp), ABI_BLOCK_KEY(t->slot, call->ptr));
	block_put_back(t->slot, call->ptr, &call->old, call->old_from);
	call->old_from = BLOCK_UNKNOWN;
	t->busy = 0;
}

/*
 * As with NESTING_RANGE, but where the stack cannot be walked: another one may begin below. Before
 * Linux 5.15 none can, since functions are verified at each call.
 */
#define NESTING_UNWALKED_RANGE (32 * 1024)

/* Where a call begins. */
struct nesting_from {
	__u64 sp, fp, link;
};

/* Not known on arm64. */
static __always_inline bool call_stands(const struct alloc_call *call)
{
	return !NESTING_READS_STACK || nesting_stands(call->sp, 0, call->by_sites ? call->link : 0);
}

static __always_inline int nesting_in(const struct nesting_from *from, __u32 slot,
				      const struct alloc_call *call)
{
	__u64 below = call->sp - from->sp;
	__u64 before = call->by_sites ? call->link : 0;
	int r = NESTING_UNKNOWN;

	if (below >= NESTING_RANGE)
		return NESTING_APART;
	if (!below)
		return nesting_stands(from->sp, from->link, before) ? NESTING_SAME : NESTING_OVER;
	if (!NESTING_READS_STACK) {
		r = nesting_by_records(from->sp, from->fp, call->sp, before);
		return r == NESTING_UNKNOWN ? NESTING_GUESSED : r;
	}
#if NESTING_BY_CFI
	if (knob_unwind)
		r = nesting_walk(slot, from->sp, from->fp, call->sp);
#endif
	if (r == NESTING_OVER || r == NESTING_APART)
		return r;
	if (!call_stands(call))
		return NESTING_OVER;
	if (r == NESTING_INSIDE)
		return r;
	return below < NESTING_UNWALKED_RANGE ? NESTING_GUESSED : NESTING_APART;
}

/* A free place for a suspended call; SUSPENDED_CALLS: there is none. */
VERIFIED_ONCE_NUMBERS __u32 suspended_room(void)
{
	struct thread *t = thread_find();
	__u32 i, place = SUSPENDED_CALLS;

	for (i = 0; t && i < SUSPENDED_CALLS; i++)
		if (!t->suspended_sp[i])
			place = i;
	return place;
}

/*
 * The thread's call waits for its return, which may never come: what it is to replace is there
 * meanwhile. When all places are taken, the one that waits there is given up (counted). 1 + its
 * place.
 */
VERIFIED_ONCE_NUMBERS int call_suspend(__u32 slot)
{
	struct suspended_key key = { .tid = bpf_get_current_pid_tgid() };
	struct abi_proc *proc = proc_by_slot(slot);
	struct thread *t = thread_find();
	__u32 place = suspended_room();
	struct alloc_call *before;

	if (!t || !proc)
		return 0;
	if (place >= SUSPENDED_CALLS) {
		proc_lost(proc, ABI_LOST_INFLIGHT);
		place = t->call.sp >> 4 & (SUSPENDED_CALLS - 1);
	} else {
		t->suspended++;
	}
	key.place = place;
	before = bpf_map_lookup_elem(&suspended_calls, &key);
	if (before && before->inner)
		inner_forget(place);
	if (bpf_map_update_elem(&suspended_calls, &key, &t->call, BPF_ANY))
		proc_lost(proc, ABI_LOST_INFLIGHT);
	barrier_var(place); /* old verifiers have forgotten its bound */
	t->suspended_sp[place & (SUSPENDED_CALLS - 1)] = t->call.sp;
	call_drop(t);
	return 1 + place;
}

static __always_inline bool same_block(const struct abi_block *a, const struct abi_block *b)
{
	return a->stack == b->stack && a->size_fn == b->size_fn && a->tick == b->tick &&
	       a->era == b->era;
}

/* Takes the block out that a resumed realloc is to replace, if it is still there. */
VERIFIED_ONCE_NUMBERS int call_take_block_again(void)
{
	struct thread *t = thread_find();
	struct alloc_call *call;
	struct abi_block found;
	int from;

	if (!t || t->call.old_from == BLOCK_UNKNOWN)
		return 0;
	call = &t->call;
	from = block_take(t->slot, call->ptr, &found);
	call->old_from = from;
	/* A realloc within this one has replaced it for both. */
	if (from == BLOCK_UNKNOWN && call->throws)
		call->ptr = 0;
	if (from == BLOCK_UNKNOWN)
		return 0;
	if (!same_block(&found, &call->old)) {
		block_put_back(t->slot, call->ptr, &found, from);
		call->old_from = BLOCK_UNKNOWN;
	} else if (knob_free_stacks) {
		birth_move(ABI_BLOCK_KEY(t->slot, call->ptr), ABI_BLOCK_KEY(t->slot, call->sp));
	}
	return 0;
}

/*
 * A suspended call goes on; the one that the thread is in is suspended for it. The caller calls
 * call_take_block_again() when there is more room on the kernel's stack.
 */
VERIFIED_ONCE_NUMBERS int call_resume(__u32 slot, __u32 place)
{
	struct alloc_call *suspended = suspended_call(place), call;
	struct thread *t = thread_find();

	if (!t || !suspended)
		return 0;
	call = *suspended;
	if (call.inner)
		inner_forget(place);
	call.inner = 0;
	suspended->inner = 0;
	t->suspended_sp[place & (SUSPENDED_CALLS - 1)] = 0;
	t->suspended--;
	if (t->busy)
		call_suspend(slot);
	t->call = call;
	t->busy = 1;
	return 1;
}

/* Looked up again: what lives on across calls is on the stack, and there is no room. */
static __always_inline bool has_inner(__u32 place)
{
	struct alloc_call *call = suspended_call(place);

	return call && call->inner;
}

/* CALL_NESTED_IN_SUSPENDED with the place of the suspended call, from bit CALL_PLACE_SHIFT on. */
enum { CALL_APART, CALL_NESTED, CALL_RESUMED, CALL_NESTED_IN_SUSPENDED, CALL_SEARCH, CALL_LEFT };
#define CALL_PLACE_SHIFT 8
#define CALL_IS(r) ((r)&0xff)
#define CALL_PLACE(r) ((r) >> CALL_PLACE_SHIFT & (SUSPENDED_CALLS - 1))
#define CALL_GUESSED (1 << 16) /* beside the nested ones */

/*
 * Is the call that begins inside the one that the thread is in? CALL_SEARCH: no, and that is over,
 * or suspended.
 */
VERIFIED_ONCE_NUMBERS int nested_in_current(__u64 sp, __u64 fp, __u64 link)
{
	const struct nesting_from from = { .sp = sp, .fp = fp, .link = link };
	struct thread *t = thread_find();
	int r;

	if (!t)
		return CALL_APART;
	if (t->busy) {
		r = nesting_in(&from, t->slot, &t->call);
		if (r == NESTING_INSIDE)
			return CALL_NESTED;
		if (r == NESTING_GUESSED)
			return CALL_NESTED | CALL_GUESSED;
		if (r == NESTING_SAME)
			return CALL_APART;
		if (r == NESTING_OVER) {
			call_failed_if_left(proc_by_slot(t->slot), &t->call);
			call_drop(t);
		} else {
			call_suspend(t->slot);
		}
	}
	t->call.within = 0;
	return CALL_SEARCH;
}

/*
 * The same of a suspended one. CALL_LEFT of one that is over with blocks made inside it: the caller
 * has more room on the stack.
 */
VERIFIED_ONCE_NUMBERS int nested_in_suspended(__u32 place, __u64 sp, __u64 fp, __u64 link)
{
	const struct nesting_from from = { .sp = sp, .fp = fp, .link = link };
	struct thread *t = thread_find();
	struct alloc_call *call;
	int r;

	place &= SUSPENDED_CALLS - 1;
	if (!t || t->suspended_sp[place] - sp >= NESTING_RANGE)
		return CALL_SEARCH;
	call = suspended_call(place);
	r = call ? nesting_in(&from, t->slot, call) : NESTING_OVER;
	if (r == NESTING_INSIDE)
		return CALL_NESTED_IN_SUSPENDED | place << CALL_PLACE_SHIFT;
	if (r == NESTING_GUESSED)
		return CALL_NESTED_IN_SUSPENDED | CALL_GUESSED | place << CALL_PLACE_SHIFT;
	/* What jumps on has made nothing yet: with blocks, it is called anew. */
	if (r == NESTING_SAME && !has_inner(place))
		return call_resume(t->slot, place) ? CALL_RESUMED : CALL_APART;
	if (r != NESTING_OVER && r != NESTING_SAME)
		return CALL_SEARCH;
	if (has_inner(place))
		return CALL_LEFT;
	call_failed_if_left(proc_by_slot(t->slot), call);
	t->suspended_sp[place] = 0;
	t->suspended--;
	return CALL_SEARCH;
}

#ifdef OLD_KERNEL

static __always_inline int call_begins_within(__u32 slot, int nested)
{
	(void)slot, (void)nested;
	return 0;
}

#else

/*
 * Is the allocation that begins inside a call which an exception can leave? That call is suspended,
 * and the thread's one is within it. nested: what thread_nested() has said.
 */
VERIFIED_ONCE_NUMBERS int call_begins_within(__u32 slot, int nested)
{
	struct thread *t = thread_find();
	struct alloc_call *outer;
	__u32 within = 0;

	if (!t)
		return 0;
	if (CALL_IS(nested) == CALL_NESTED) {
		if (t->busy && t->call.throws)
			within = call_suspend(slot);
	} else {
		outer = suspended_call(CALL_PLACE(nested));
		if (outer && outer->throws)
			within = 1 + CALL_PLACE(nested);
	}
	if (within)
		t->call.within = within;
	return within;
}

#endif

/* The least that the kernel puts on the stack below what it interrupts. */
#define SIGNAL_FRAME_BYTES 512

/* Can the function that begins with this sp be called by a handler that began inside the call? */
static __always_inline bool signal_between(const struct alloc_call *call, __u64 sp)
{
	return call->signal_below &&
	       call->sp - sp >= CALL_SIGNAL_BYTES(call->signal_below) + SIGNAL_FRAME_BYTES;
}

/*
 * The allocation that begins is not counted, as it seems to be a part of another call: lost until
 * that one returns (call_returns), for good if it may be a signal handler's.
 */
VERIFIED_ONCE_NUMBERS int call_guessed(__u32 slot, int nested, __u64 sp)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct thread *t = thread_find();
	struct alloc_call *outer;

	if (!t || !proc)
		return 0;
	outer = CALL_IS(nested) == CALL_NESTED ? &t->call : suspended_call(CALL_PLACE(nested));
	if (outer && !signal_between(outer, sp) && outer->guessed < 255)
		outer->guessed++;
	proc_lost(proc, ABI_LOST_NESTING);
	return 0;
}

/* The thread's call has not been left: what was guessed to be inside it was. */
static __always_inline void call_returns(struct abi_proc *proc, struct thread *t)
{
	t->busy = 0;
	if (!t->call.guessed)
		return;
	proc_found(proc, ABI_LOST_NESTING, t->call.guessed);
	t->call.guessed = 0;
}

/* Is what runs with this sp inside the suspended call? */
VERIFIED_ONCE_NUMBERS int inside_suspended(__u32 place, __u64 sp)
{
	struct alloc_call *call = suspended_call(place);

	return call && call->sp - sp < NESTING_RANGE && call_stands(call);
}

/*
 * Is the system call that was made with this sp inside an allocator call? By their places alone:
 * the tracepoints' programs leave no room on the kernel's stack for a walk.
 */
VERIFIED_ONCE_NUMBERS int inside_call(__u32 slot, __u64 sp)
{
	struct thread *t = thread_find();
	int i;

	if (!t || t->slot != slot)
		return 0;
	if (t->busy && t->call.sp - sp < NESTING_RANGE && call_stands(&t->call))
		return 1;
	for (i = 0; t->suspended && i < SUSPENDED_CALLS; i++)
		if (t->suspended_sp[i] - sp < NESTING_RANGE && inside_suspended(i, sp))
			return 1;
	return 0;
}

/* Does what the search had no room for. What begins in a scope is inside, too. */
VERIFIED_ONCE_NUMBERS int call_settled(__u32 slot, int r, __u32 fn)
{
	struct thread *t = thread_find();

	if (CALL_IS(r) == CALL_NESTED || CALL_IS(r) == CALL_NESTED_IN_SUSPENDED)
		return r;
	if (CALL_IS(r) == CALL_RESUMED)
		call_take_block_again();
	return t && t->busy && t->call.is_scope && t->call.fn != fn ? CALL_NESTED : CALL_APART;
}

/*
 * Is the call that begins nested (not 0, as call_begins_within() wants it)? If not, the thread is
 * in a call only when that has jumped to this one, which takes over, but in a scope is inside.
 */
static __always_inline int thread_nested_at(struct thread *t, __u32 slot, __u16 fn, __u64 sp,
					    __u64 fp, __u64 link)
{
	int i, r;

	if (!t->busy && !t->suspended)
		return CALL_APART;
	r = nested_in_current(sp, fp, link);
	/* A step of the search is verified once, and not in each round of a loop. */
	for (i = 0; i < SUSPENDED_CALLS && r == CALL_SEARCH; i++) {
		r = nested_in_suspended(i, sp, fp, link);
		if (r != CALL_LEFT)
			continue;
		call_left(slot, i);
		r = CALL_SEARCH;
	}
	return call_settled(slot, r, fn);
}

/* sp: at the function's entry. */
static __always_inline int thread_nested(const struct pt_regs *ctx, struct thread *t, __u32 slot,
					 __u16 fn, __u64 sp)
{
	__u64 fp = PT_REGS_FP(ctx), link = LINK_REGISTER(ctx);

	barrier_var(fp); /* else it is loaded by a chosen pointer, see argument() */
	barrier_var(link);
	return thread_nested_at(t, slot, fn, sp, fp, link);
}

/* The call that has been entered with this sp returns: the thread is in it then. */
VERIFIED_ONCE_NUMBERS int suspended_call_ends(__u32 slot, __u64 sp, __u32 fn)
{
	struct thread *t = thread_find();
	struct alloc_call *call;
	int i;

	if (!t)
		return 0;
	for (i = 0; i < SUSPENDED_CALLS; i++) {
		if (t->suspended_sp[i] != sp)
			continue;
		call = suspended_call(i);
		if (call && call->fn == fn)
			return call_resume(slot, i);
	}
	return 0;
}

static __always_inline bool thread_leaves(struct thread *t, __u32 slot, __u64 sp, __u16 fn)
{
	if (t->slot != slot)
		return false;
	if (t->busy && t->call.sp == sp && t->call.fn == fn)
		return true;
	if (!t->suspended || !suspended_call_ends(slot, sp, fn))
		return false;
	call_take_block_again();
	return true;
}

#endif
