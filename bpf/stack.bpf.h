/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captures the user stack of the current event and gives its 64-bit content hash; frames leave the
 * kernel once. The walk is unwind.bpf.h's, or the kernel's by frame pointers (knob_unwind).
 */
#ifndef MEMTRACED_STACK_BPF_H
#define MEMTRACED_STACK_BPF_H

#include "knobs.bpf.h"
#include "process.bpf.h"
#include "registers.bpf.h"
#include "return_address.bpf.h"
#include "ring.bpf.h"
#include "room.bpf.h"
#include "stack_copy.bpf.h"
#include "stack_scratch.bpf.h"
#include "thread.bpf.h"
#if WALKS_BY_CFI
#include "unwind.bpf.h"
#endif

/* Where the event happened, relative to the function whose caller heads the stack. */
enum stack_at {
	STACK_AT_RETURN,  /* return probe: ip is in the caller already */
	STACK_AT_EXIT,	  /* on the `ret`: the return address is where it was at entry */
	STACK_AT_SYSCALL, /* ip is behind the instruction; user space drops that frame */
	STACK_AT_ANY,	  /* interrupted */
	STACK_AT_PROBE,	  /* the same by a uprobe, inside a function */
	STACK_AT_SITE,	  /* inside an allocator call, which knows its sp and fp at its entry */
};

/* STACK_AT_EXIT, and the return address is so many words above sp. */
#define STACK_WORDS_SHIFT 8
#define STACK_BELOW_ENTRY(words) (STACK_AT_EXIT | (words) << STACK_WORDS_SHIFT)

static __always_inline struct stack_scratch *scratch_take(__u32 level)
{
	struct stack_scratch *s = bpf_map_lookup_elem(&scratch, &level);

	if (!s || !take_on_this_cpu(&s->busy))
		return NULL;
	s->level = level;
	return s;
}

#define SCRATCH_TRIES_AT_ONCE 4

/* The first of a few levels from this one on that was free, and is taken; 0: none was. */
VERIFIED_ONCE_NUMBERS __u32 scratch_level(__u32 level)
{
	int i;

	for (i = 0; i < SCRATCH_TRIES_AT_ONCE; i++, level++)
		if (scratch_take(level))
			return level;
	return 0;
}

static __always_inline struct stack_scratch *scratch_get(void)
{
	struct stack_scratch *s = scratch_take(0);
	__u32 level, taken = 0;

	if (s)
		return s;
	for (level = 1; level < SCRATCH_LEVELS && !taken; level += SCRATCH_TRIES_AT_ONCE)
		taken = scratch_level(level);
	return taken ? bpf_map_lookup_elem(&scratch, &taken) : NULL;
}

static __always_inline void scratch_put(struct stack_scratch *s)
{
	give_back_on_this_cpu(&s->busy);
}

/* Frames to keep: user space drops one of a system call's. */
static __always_inline __u32 frames_kept(enum stack_at at, __u32 most)
{
	__u32 n = knob_max_stack + (at == STACK_AT_SYSCALL);

	return n < most ? n : most;
}

/* bpf_preempt_disable() and _enable(): abi.h says why by number */
static void (*const hold_cpu)(void) = (void *)ABI_CALL_HOLD_CPU;
static void (*const release_cpu)(void) = (void *)ABI_CALL_RELEASE_CPU;

/*
 * The kernel's walk has one buffer for each CPU. A uprobe program that is preempted in the middle
 * makes all other walks there fail, and until it has copied its frames they can be overwritten.
 * Tracepoints are not preempted, trace/kernel/preemption.h saw to that.
 */
static __always_inline long held_walk(void *ctx, __u64 *frames, __u32 n)
{
	long len;

#ifndef OLD_KERNEL
	if (knob_hold_cpu)
		hold_cpu();
#endif
	len = bpf_get_stack(ctx, frames, n * 8, BPF_F_USER_STACK);
#ifndef OLD_KERNEL
	if (knob_hold_cpu)
		release_cpu();
#endif
	return len;
}

/* What is said of frames that the kernel's walk has found. */
static __always_inline void frames_end(struct abi_ev_stack *ev, __u32 kept, bool interrupted)
{
	ev->flags = 0;
	if (ev->frames > kept || ev->frames >= ABI_KERNEL_FRAMES)
		ev->flags |= ABI_STACK_TRUNCATED;
	if (ev->frames > kept)
		ev->frames = kept;
	clear_exact(ev, interrupted);
}

/* The kernel's walk; false when not even one frame could be had. */
static __always_inline bool walk_frame_pointers(void *ctx, struct abi_ev_stack *ev,
						const struct user_registers *regs, enum stack_at at)
{
	__u64 *frames = ev->frame;
	__u32 kept = frames_kept(at, ABI_KERNEL_FRAMES);
	/* One more tells a stack that is longer from one that just fits. */
	__u32 room = kept < ABI_KERNEL_FRAMES ? kept + 1 : ABI_KERNEL_FRAMES;
	long len;

	if (at == STACK_AT_SYSCALL) {
		/* room for a return address behind the ip: libc's wrappers have no frame */
		len = bpf_get_stack(ctx, frames + 1, (room - 1) * 8, BPF_F_USER_STACK);
		if (len < 8)
			return false;
		frames[0] = frames[1];
		if (!link_read(regs->link, regs->sp, &frames[1]) ||
		    (len >= 16 && LINK_IS_IN_FRAME(frames[1], frames[2])))
			frames[1] = 0;
		ev->frames = (__u64)len / 8 + 1;
	} else {
		if (at == STACK_AT_ANY)
			len = bpf_get_stack(ctx, frames, room * 8, BPF_F_USER_STACK);
		else
			len = held_walk(ctx, frames, room);
		if (len < 8)
			return false;
		if (at == STACK_AT_EXIT) {
			frames[0] = return_address(regs->sp, regs->link);
			if (!frames[0])
				return false;
		}
		ev->frames = (__u64)len / 8; /* clang 14 has no signed division */
	}
	frames_end(ev, kept, at == STACK_AT_ANY || at == STACK_AT_PROBE);
	return true;
}

#if WALKS_BY_CFI

/* Where a walk by call frame information begins. */
static __always_inline void walk_cfi_begin(struct stack_scratch *s,
					   const struct user_registers *regs, __u64 seed,
					   __u32 slot, enum stack_at at)
{
	struct unwind_walk *w = &s->walk;
	bool exact = at == STACK_AT_ANY || at == STACK_AT_PROBE;

	w->at.pc = regs->pc;
	w->at.sp = regs->sp;
	w->at.bp = regs->fp;
	/* A system call is one whose return address is its ip: information may end behind it. */
	w->at.exact = exact;
	w->kept = frames_kept(at, ABI_MAX_FRAMES);
	w->seed = seed;
	w->slot = slot;
	unwind_begin(s, exact);
}

/* The walk by call frame information; 0 when not even one frame could be had. */
static __always_inline __u64 walk_cfi(struct stack_scratch *s, const struct user_registers *regs,
				      __u64 seed, __u32 slot, enum stack_at at)
{
	walk_cfi_begin(s, regs, seed, slot, at);
	if (at == STACK_AT_EXIT && !unwind_return(s))
		return 0;
	return unwind(s);
}

#endif

/*
 * The hash of a stack that the kernel has walked. Multiply and fold, 64 bits; seeded so that equal
 * addresses of different images stay apart. A global function: its loop is verified once, not on
 * each way to it.
 */
VERIFIED_ONCE __u64 stack_hash(const struct abi_ev_stack *ev, __u64 seed)
{
	__u64 h;
	__u32 i;

	if (!ev)
		return 1;
	h = seed * 0x9e3779b97f4a7c15ULL + ev->frames;

	/* ABI_KERNEL_FRAMES rounds of six instructions */
	for (i = 0; i < ABI_KERNEL_FRAMES; i++) {
		if (i >= ev->frames)
			break;
		h = (h ^ ev->frame[i]) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return ABI_STACK_ID(h);
}

/* All frames are wanted, not only those up to where the walk met the stack before. */
static __always_inline void stack_complete(struct stack_scratch *s)
{
#if WALKS_BY_CFI
	path_copy_frames(scratch_tell(s));
#else
	(void)s;
#endif
}

/* The stack is not in `stacks`: tells it, or what stands for it where it has no room (counted). */
static __always_inline __u64 stack_tell(struct stack_scratch *s, __u32 slot)
{
	struct abi_ev_stack *ev = &s->ev;
	__u64 len = sizeof(*ev) - sizeof(ev->frame);
	struct abi_room *room = room_of(slot);
	__u32 frames = ev->frames;
	__u8 seen = 1;
	long r;

	if (!room_for_stack(room)) {
		count_loss(ABI_LOST_STACK_ROOM);
		return ABI_STACK_OTHER;
	}
	stack_complete(s);
	ev->head.type = ABI_EV_STACK;
	ev->head.slot = slot;
	ev->head.time_ns = bpf_ktime_get_ns();
	/* They never are more. Linux 6.1 forgets a bound that was told before a call. */
	_Static_assert((ABI_MAX_FRAMES & (ABI_MAX_FRAMES + 1)) == 0, "a mask");
	barrier_var(frames);
	frames &= ABI_MAX_FRAMES;
	if (ring_send_later(ev, len + frames * 8)) {
		/* not marked as seen: the next event with this stack tries again */
		count_loss(ABI_LOST_RING_FULL);
		return ev->hash;
	}
	r = bpf_map_update_elem(&stacks, &ev->hash, &seen, BPF_NOEXIST);
	if (!r)
		ROOM_COUNT(room, stacks, 1);
	else if (r != -EEXIST)
		count_loss(ABI_LOST_STACK_MAP_FULL);
	return ev->hash;
}

/* The stack's id. */
static __always_inline __u64 stack_publish(struct stack_scratch *s, __u32 slot)
{
	struct abi_ev_stack *ev = &s->ev;
	__u32 at = ev->hash % RECENT_STACKS;
	__u64 *recent = bpf_map_lookup_elem(&recent_stacks, &at);

	if (!recent || *recent == ev->hash)
		return ev->hash;
	if (!bpf_map_lookup_elem(&stacks, &ev->hash))
		return stack_tell(s, slot);
	*(volatile __u64 *)recent = ev->hash;
	return ev->hash;
}

/* A scratch for a stack, or NULL (counted). */
static __always_inline struct stack_scratch *stack_begin(void)
{
	struct stack_scratch *s = scratch_get();

	if (!s)
		count_loss(ABI_LOST_SCRATCH_BUSY);
	return s;
}

/* Gives the scratch back; the id of the stack that was walked in it, 0 (counted) if that failed. */
static __always_inline __u64 stack_end(struct abi_proc *proc, struct stack_scratch *s, __u64 hash,
				       __u32 slot)
{
	if (hash) {
		s->ev.hash = hash;
		hash = stack_publish(s, slot);
		if (knob_check_stacks) {
			stack_complete(s);
			stack_copy(&s->ev, slot);
		}
	} else {
		count_loss(ABI_LOST_STACK_UNREADABLE);
	}
	scratch_put(s);
	return hash;
}

static __always_inline __u64 stack_seed(const struct abi_proc *proc)
{
	return (__u64)proc->image << 32 | proc->code_epoch;
}

/*
 * The kernel's walk, along frame pointers, from these registers, which are those in ctx if that has
 * any; `flags` are of abi_ev_stack. The stack's hash, 0 if there is none.
 */
static __always_inline __u64 walk_by_kernel(void *ctx, struct stack_scratch *s,
					    const struct user_registers *regs,
					    const struct abi_proc *proc, enum stack_at at,
					    __u32 flags)
{
	if (!walk_frame_pointers(ctx, &s->ev, regs, at))
		return 0;
	s->ev.flags |= flags;
	return stack_hash(&s->ev, stack_seed(proc));
}

/*
 * Walks the user stack of a uprobe program's event from these registers, which are those in ctx.
 * The stack's hash, 0 if there is none.
 */
static __always_inline __u64 stack_walk(void *ctx, struct stack_scratch *s,
					const struct user_registers *regs, struct abi_proc *proc,
					__u32 slot, enum stack_at at)
{
#if WALKS_BY_CFI
	if (knob_unwind)
		return walk_cfi(s, regs, stack_seed(proc), slot, at);
#endif
	return walk_by_kernel(ctx, s, regs, proc, at, 0);
}

/* For uprobe programs: the stack's id; 0 when none is wanted, or (counted) it cannot be read. */
static __always_inline __u64 stack_capture(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
					   enum stack_at at)
{
	struct user_registers regs = PROBE_REGISTERS(ctx);
	struct stack_scratch *s;

	if (!knob_max_stack)
		return 0;
	regs.sp += 8 * (at >> STACK_WORDS_SHIFT);
	at &= (1 << STACK_WORDS_SHIFT) - 1;
	if (at == STACK_AT_SITE) {
		const struct thread *t = thread_find();

		if (!t)
			return 0;
		regs.sp = t->call.sp;
		regs.fp = t->call.fp;
		at = STACK_AT_EXIT;
	}
	s = stack_begin();
	if (!s)
		return 0;
	return stack_end(proc, s, stack_walk(ctx, s, &regs, proc, slot, at), slot);
}

#if !WALKS_BY_CFI

/* At a probe in a function that has no frame record: the first one leads past its caller. */
static __always_inline bool walk_from_leaf(void *ctx, struct abi_ev_stack *ev, __u64 link)
{
	__u32 kept = frames_kept(STACK_AT_PROBE, ABI_KERNEL_FRAMES);
	__u32 room = kept < ABI_KERNEL_FRAMES ? kept : ABI_KERNEL_FRAMES - 1;
	long len = held_walk(ctx, ev->frame + 1, room);

	if (len < 8)
		return false;
	ev->frame[0] = ev->frame[1];
	ev->frame[1] = UNSIGNED_ADDRESS(link);
	ev->frames = (__u64)len / 8 + 1;
	frames_end(ev, kept, true);
	return true;
}

static __always_inline __u64 leaf_stack_capture(struct pt_regs *ctx, struct abi_proc *proc,
						__u32 slot)
{
	struct stack_scratch *s;
	__u64 hash = 0;

	if (!knob_max_stack)
		return 0;
	s = stack_begin();
	if (!s)
		return 0;
	if (walk_from_leaf(ctx, &s->ev, LINK_REGISTER(ctx)))
		hash = stack_hash(&s->ev, stack_seed(proc));
	return stack_end(proc, s, hash, slot);
}

#endif

#endif
