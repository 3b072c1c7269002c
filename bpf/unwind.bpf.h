/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk over a user stack by call frame information (x86-64): from the registers in `walk` to
 * the frames in `ev`. Pure but for the maps and for stack memory, so that it also compiles on the
 * host (tests/unit/test_unwind.c).
 *
 *   unwind         calls unwind_row until the stack ends, which calls unwind_frames
 *   path_check     what is as in the last stack: unwind_path.bpf.h
 *   unwind_frames  a few frames; what the cache holds a short code for is done here
 *   unwind_find    what the cache does not hold: unwind_find.bpf.h
 *   unwind_step    what has no short code: other rules, frame pointers, signal frames
 *
 * Global functions are verified once each, where a loop over all frames of a stack would be walked
 * by the verifier frame by frame.
 */
#ifndef MEMTRACED_UNWIND_BPF_H
#define MEMTRACED_UNWIND_BPF_H

#include "stack_scratch.bpf.h"
#include "unwind_find.bpf.h"
#include "unwind_go.bpf.h"
#include "unwind_path.bpf.h"
#include "unwind_steps.h"
#include "unwind_window.bpf.h"

/* For more the verifier walks more: 500 instructions each. Old kernels lack the stack for two. */
#ifdef OLD_KERNEL
#define UNWIND_FRAMES_AT_ONCE 1
#else
#define UNWIND_FRAMES_AT_ONCE 2
#endif
/*
 * Of unwind_frames() in a walk: for its frames, each of which may end a call, and one in which a
 * stack of ABI_MAX_FRAMES is found to end or not; for the words of a path, and where checks of
 * these begin and end.
 */
#define UNWIND_CALLS (ABI_MAX_FRAMES + 1 + (int)PATH_CALLS + 2 * (PATH_MISSES + 1))
#define UNWIND_CALLS_IN_ROW 20
#define UNWIND_ROWS ((UNWIND_CALLS + UNWIND_CALLS_IN_ROW - 1) / UNWIND_CALLS_IN_ROW)
/* Of path_check(), where the first frame is in the path; others come through unwind_frames(). */
#define UNWIND_FIRST_CHECKS 20

static __always_inline void mark_exact(struct stack_scratch *s, __u64 frame)
{
	s->ev.exact[frame >> 6 & (ABI_EXACT_WORDS - 1)] |= 1ULL << (frame & 63);
	s->walk.any_exact = 1;
}

/* After a step to a frame that is in no path. */
static __always_inline int unwind_beside_path(struct unwind_walk *w)
{
	w->path_from = w->frames;
	return 1;
}

/*
 * Behind a signal's frame. Neither that nor the handler's return to the trampoline, which is this
 * frame, comes from a call.
 */
static __always_inline int unwind_interrupted(struct stack_scratch *s)
{
	struct unwind_walk *w = &s->walk;

	w->path_from = w->frames + 1;
	mark_exact(s, w->frames - 1);
	mark_exact(s, w->frames);
	return 1;
}

/* Is the step one as by a short code, for a larger frame, say? Then a path may have it. */
static __always_inline bool unwind_in_path(struct unwind_walk *w,
					   const struct abi_unwind_rule *rule)
{
	__u64 at = w->frames - 1, below = -(__s64)rule->bp_offset;

	barrier_var(at);
	if (at >= ABI_MAX_FRAMES || !unwind_is_plain(rule))
		return false;
	w->from[at].words = rule->bp == ABI_UNWIND_BP_SAME ? 0 : below / 8;
	return true;
}

/* What unwind_steps.h has found by the rule: 0 when the walk is over. */
static __always_inline int unwind_found(struct stack_scratch *s, const struct abi_unwind_rule *rule,
					int found)
{
	struct unwind_walk *w = &s->walk;

	switch (found) {
	case UNWIND_CALLER:
		return unwind_in_path(w, rule) ? 1 : unwind_beside_path(w);
	case UNWIND_GUIDED:
		w->any_fp = 1;
		return unwind_beside_path(w);
	case UNWIND_INTERRUPTED:
		return unwind_interrupted(s);
	default:
		return unwind_cut(w, found);
	}
}

static __always_inline int unwind_rbx_of(struct stack_scratch *s, __u64 frame, __u64 *ret)
{
	__u32 number = unwind_rule_of(scratch_tell(s), frame);
	struct abi_unwind_rule *rule = bpf_map_lookup_elem(&unwind_rules, &number);
	const struct unwind_from *from;

	barrier_var(frame);
	if (!rule || frame >= ABI_MAX_FRAMES - 1)
		return -1;
	from = &s->walk.from[frame];
	return unwind_saved_rbx(s, rule, from->sp, from[1].sp, ret);
}

/* To the caller of a frame whose CFA is by rbx, w->later being its rule. */
VERIFIED_ONCE_NUMBERS int unwind_from_rbx(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	struct abi_unwind_rule *rule;
	struct unwind_walk *w;
	__u32 number;

	if (!s)
		return 0;
	w = &s->walk;
	number = w->later; /* Linux 6.1 takes no key from there */
	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	w->later = 0;
	if (!rule)
		return unwind_cut(w, ABI_CUT_UNSUPPORTED);
	return unwind_found(
		s, rule, unwind_by_rbx(s, &w->at, rule, w->frames, REGISTER_RBX(task_registers())));
}

/* By registers that are not tracked: they are those of the innermost frame. */
static __always_inline int unwind_by_register(struct stack_scratch *s,
					      const struct abi_unwind_rule *rule)
{
	struct pt_regs *regs = task_registers();
	struct unwind_walk *w = &s->walk;

	if (w->frames != 1)
		return unwind_cut(w, ABI_CUT_UNSUPPORTED);
	if (rule->kind == ABI_UNWIND_RA_IN_RDI) {
		w->at.pc = PT_REGS_PARM1_CORE(regs);
		w->at.sp += rule->offset;
		w->at.exact = 0;
		return unwind_beside_path(w);
	}
	if (!PT_REGS_RC_CORE(regs))
		return unwind_cut(w, ABI_CUT_NONE);
	return unwind_found(s, rule, unwind_to(s, &w->at, rule, w->at.sp + rule->offset));
}

/* Code in no mapping: a return probe's trampoline that a signal has interrupted, or unknown. */
VERIFIED_ONCE_NUMBERS int unwind_unmapped(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	struct unwind_walk *w;
	__u64 address, slot = 0;

	if (!s)
		return 0;
	w = &s->walk;
	w->later = 0;
	address = w->at.exact ? interrupted_return(w->at.pc, w->at.sp, &w->instance, &slot) : 0;
	if (!address)
		return unwind_found(s, NULL,
				    unwind_by_frame_pointer(s, &w->at, ABI_CUT_NO_MAPPING));
	w->at.pc = address;
	w->at.sp = slot + 8;
	w->at.exact = 0;
	return unwind_beside_path(w);
}

/*
 * Not where it is found out, but in unwind_row(): that would be more functions deep than have
 * stacks.
 */
static __always_inline int unwind_later(struct unwind_walk *w, __u32 code)
{
	w->later = code;
	return 0;
}

/* Steps to the caller by what unwind_find() said; 0 when the walk is over. */
VERIFIED_ONCE_NUMBERS int unwind_step(scratch_ref ref, __u32 code)
{
	struct stack_scratch *s = scratch_told(ref);
	struct abi_unwind_rule *rule;
	struct unwind_walk *w;

	if (!s)
		return 0;
	w = &s->walk;
	if (code == UNWIND_NOT_EXACT)
		return unwind_cut(w, ABI_CUT_PRUNED);
	if (code == UNWIND_NO_MAPPING)
		return unwind_later(w, code);
	rule = bpf_map_lookup_elem(&unwind_rules, &code);
	if (!rule)
		return unwind_cut(w, ABI_CUT_NO_CFI);
	switch (rule->kind) {
	case ABI_UNWIND_CLONED:
	case ABI_UNWIND_RA_IN_RDI:
		return unwind_by_register(s, rule);
	case ABI_UNWIND_GO_DEPTH:
	case ABI_UNWIND_GO_CURRENT:
	case ABI_UNWIND_GO_RESUMED:
		return unwind_to_goroutine(ref, code);
	case ABI_UNWIND_RBX:
		return unwind_later(w, code);
	default:
		return unwind_found(s, rule, unwind_by_rule(s, &w->at, rule));
	}
}

/* A code address at the beginning of a page: nothing, or a return probe's trampoline. */
VERIFIED_ONCE_NUMBERS int unwind_page_start(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	struct unwind_walk *w;

	if (!s)
		return 0;
	w = &s->walk;
	w->path_from = PATH_NEVER;
	if (!w->at.pc && w->frames)
		return unwind_cut(w, unwind_at_root(w->any_fp));
	w->path_from = w->frames + w->at.exact;
	if (!w->at.exact)
		w->at.pc = original_return_address(w->at.pc, w->at.sp - 8, &w->instance);
	return 1;
}

static __always_inline void unwind_save(struct unwind_walk *w, const struct unwind_regs *regs,
					__u64 n)
{
	w->at.pc = regs->pc;
	w->at.sp = regs->sp;
	w->at.bp = regs->bp;
	w->frames = n;
}

static __always_inline void unwind_load(const struct unwind_walk *w, struct unwind_regs *ret)
{
	ret->pc = w->at.pc;
	ret->sp = w->at.sp;
	ret->bp = w->at.bp;
}

/* One step by a short code, from the window. */
static __always_inline int unwind_short(struct stack_scratch *s, struct unwind_regs *regs,
					__u32 code)
{
	struct unwind_walk *w = &s->walk;
	__u64 base = code & UNWIND_CODE_BP ? regs->bp : regs->sp;
	__u64 cfa = base + (code >> 3 & 0x7f8), words = code & UNWIND_CODE_WORDS, need, at;
	bool bp_saved = words;

	if (!unwind_rises(regs->sp, cfa))
		return unwind_cut(w, ABI_CUT_NOT_RISING);
	words |= !bp_saved;
	need = words * 8;
	at = cfa - need - w->window_at;
	if (at & 7 || at > w->window_len || at + need > w->window_len) {
		if (!unwind_refill(scratch_tell(s), cfa - need, need))
			return 0;
		at = 0;
	}
	at >>= 3;
	regs->sp = cfa;
	w->at.exact = 0;
	if (bp_saved)
		regs->bp = w->window[at & (UNWIND_WINDOW - 1)];
	regs->pc = w->window[(at + words - 1) & (UNWIND_WINDOW - 1)];
	return 1;
}

/* Walks on for a few frames; 0 when the walk is over. */
VERIFIED_ONCE_NUMBERS int unwind_frames(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	struct unwind_cache *cache = unwind_cache();
	struct unwind_regs regs;
	struct unwind_walk *w;
	__u64 n, at, mix, word;
	__u32 code;
	int i;

	if (!s || !cache)
		return 0;
	w = &s->walk;
	if (w->joined || path_meet(w))
		return path_check(ref);
	unwind_load(w, &regs);
	n = w->frames;
	for (i = 0; i < UNWIND_FRAMES_AT_ONCE; i++) {
		/* clang 19 would keep addresses of members on the stack, which has no room */
		barrier_var(s);
		w = &s->walk;
		if (!(regs.pc & UNWIND_PAGE_MASK)) {
			unwind_save(w, &regs, n);
			if (!unwind_page_start(scratch_tell(s)))
				return 0;
			regs.pc = w->at.pc;
		}
		at = n;
		barrier_var(at); /* the compiler would prefer a pointer to n, whose bound is lost */
		if (at >= w->kept || at >= ABI_MAX_FRAMES) {
			w->frames = n;
			return unwind_cut(w, ABI_CUT_LIMIT);
		}
		s->ev.frame[at] = regs.pc;
		w->from[at].sp = regs.sp;
		w->from[at].bp = regs.bp;
		n++;
		mix = unwind_mix(regs.pc + w->at.exact, w->seed);
		word = cache->word[mix & (UNWIND_CACHE_WORDS - 1)];
		code = word & UNWIND_CODE_MASK;
		if ((word ^ mix) >> UNWIND_CACHE_BITS) {
			unwind_save(w, &regs, n);
			code = unwind_find(scratch_tell(s), mix);
		}
		w->from[at].words = code & UNWIND_CODE_WORDS;
		if (code & UNWIND_CODE_SHORT) {
			if (unwind_short(s, &regs, code))
				continue;
			w->frames = n;
			return 0;
		}
		unwind_save(w, &regs, n);
		if (!unwind_step(scratch_tell(s), code))
			return 0;
		unwind_load(w, &regs);
	}
	unwind_save(w, &regs, n);
	return 1;
}

/*
 * Before a walk from the registers in s->walk (pc, sp, bp, exact, kept, seed, slot). interrupted:
 * pc is marked so.
 */
static __always_inline void unwind_begin(struct stack_scratch *s, bool interrupted)
{
	struct unwind_walk *w = &s->walk;
	__u64 before;

	w->hash = w->seed * 0x9e3779b97f4a7c15ULL;
	w->frames = 0;
	w->instance = 0;
	w->window_at = 0;
	w->window_len = 0;
	w->memo = unwind_memo_of(w->at.sp);
	w->window_next = sizeof(w->window);
	before = s->memo[w->memo % UNWIND_MEMOS].bytes;
	if (before < sizeof(w->window))
		w->window_next = (before + UNWIND_FIRST_BYTES) & ~7ULL;
	w->start_sp = w->at.sp;
	w->any_fp = 0;
	w->later = 0;
	w->cut = ABI_CUT_LIMIT; /* what ends a walk says why */
	path_begin(s);
	/* rarely set: only then it has to be cleared */
	if (w->any_exact)
		clear_exact(&s->ev, false);
	s->ev.exact[0] = interrupted;
	w->any_exact = interrupted;
}

/* sp points to the return address: as if the function had returned. */
static __always_inline int unwind_return(struct stack_scratch *s)
{
	struct unwind_walk *w = &s->walk;

	if (!unwind_refill(scratch_tell(s), w->at.sp, 8))
		return 0;
	w->at.pc = w->window[0];
	w->at.sp += 8;
	return 1;
}

/*
 * Walks on for a row of calls; 0 when the walk is over. The verifier walks a loop round by round:
 * so it walks the sum of a row's calls and of the rows, where one loop would have their product.
 */
VERIFIED_ONCE_NUMBERS int unwind_row(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	int i, more = 1;

	if (!s)
		return 0;
	for (i = 0; i < UNWIND_CALLS_IN_ROW && more; i++) {
		more = unwind_frames(ref);
		if (more || !s->walk.later)
			continue;
		more = s->walk.later == UNWIND_NO_MAPPING ? unwind_unmapped(ref) :
							    unwind_from_rbx(ref);
	}
	return more;
}

/* Until the walk is over. */
static __always_inline int unwind_all(scratch_ref ref, struct unwind_walk *w)
{
	int i, more = 1;

	for (i = 0; i < UNWIND_FIRST_CHECKS && more && (!i || w->joined); i++)
		more = path_check(ref);
	for (i = 0; i < UNWIND_ROWS && more; i++)
		more = unwind_row(ref);
	return w->frames ? path_end(ref) : 0;
}

/* Fills s->ev and gives the stack's hash. */
static __always_inline __u64 unwind(struct stack_scratch *s)
{
	struct unwind_walk *w = &s->walk;
	__u64 hash;
	int i;

	unwind_all(scratch_tell(s), w);
	/* First what branches: there the verifier sees that all ends of the loop are alike. */
	s->ev.flags = ABI_STACK_CFI | (w->any_fp ? ABI_STACK_FRAME_POINTERS : 0) |
		      w->cut << ABI_STACK_CUT_SHIFT;
	s->ev.frames = w->frames + w->joined;
	s->memo[w->memo % UNWIND_MEMOS].bytes = w->at.sp - w->start_sp;
	hash = unwind_fold(w->hash, (__u64)s->ev.flags << 32 | s->ev.frames);
	if (w->any_exact)
		for (i = 0; i < ABI_EXACT_WORDS; i++)
			hash = unwind_fold(hash, s->ev.exact[i]);
	return ABI_STACK_ID(hash);
}

#endif
