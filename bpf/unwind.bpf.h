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
/* That are looked at for a register that is not tracked; ld.so has five below its frame. */
#define UNWIND_RBX_FRAMES 8
/* Of path_check(), where the first frame is in the path; others come through unwind_frames(). */
#define UNWIND_FIRST_CHECKS 20

/* The caller by the frame pointer. `cut`: why there is no better way. */
static __always_inline int unwind_by_fp(struct unwind_walk *w, enum abi_stack_cut cut)
{
	__u64 frame[2];

	if (w->bp < w->sp || w->bp & 7 ||
	    bpf_probe_read_user(frame, sizeof(frame), (void *)w->bp) || !frame[1])
		return unwind_cut(w, cut);
	w->sp = w->bp + sizeof(frame);
	w->bp = frame[0];
	w->pc = frame[1];
	w->exact = 0;
	w->any_fp = 1;
	w->path_from = w->frames;
	return 1;
}

/* struct sigcontext, arch/x86/include/uapi/asm/sigcontext.h */
#define SIGCONTEXT_BP 80
#define SIGCONTEXT_BX 88
#define SIGCONTEXT_SP 120
#define SIGCONTEXT_IP 128

static __always_inline void mark_exact(struct stack_scratch *s, __u64 frame)
{
	s->ev.exact[frame >> 6 & (ABI_EXACT_WORDS - 1)] |= 1ULL << (frame & 63);
	s->walk.any_exact = 1;
}

/*
 * The interrupted code, perhaps on another stack. Neither that nor the handler's return to the
 * trampoline, which is this frame, comes from a call.
 */
static __always_inline int unwind_signal(struct stack_scratch *s, __u64 context)
{
	struct unwind_walk *w = &s->walk;

	if (!unwind_read(context + SIGCONTEXT_BP, &w->bp) ||
	    !unwind_read(context + SIGCONTEXT_SP, &w->sp) ||
	    !unwind_read(context + SIGCONTEXT_IP, &w->pc))
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	w->exact = 1;
	w->path_from = w->frames + 1;
	mark_exact(s, w->frames - 1);
	mark_exact(s, w->frames);
	return 1;
}

static __always_inline bool unwind_cfa(const struct unwind_walk *w,
				       const struct abi_unwind_rule *rule, __u64 *ret)
{
	__u64 base = rule->kind == ABI_UNWIND_SP_DEREF ? w->sp : w->bp;

	switch (rule->kind) {
	case ABI_UNWIND_SP:
	case ABI_UNWIND_CLONED:
		*ret = w->sp + rule->offset;
		return true;
	case ABI_UNWIND_BP:
		*ret = w->bp + rule->offset;
		return true;
	case ABI_UNWIND_PLT:
		*ret = w->sp + rule->offset + ((w->pc & 15) >= (__u64)rule->bp_offset ? 8 : 0);
		return true;
	default:
		if (!unwind_read(base + ABI_UNWIND_DEREF_AT(rule->offset), ret))
			return false;
		*ret += ABI_UNWIND_DEREF_THEN(rule->offset);
		return true;
	}
}

/* Is the step one as by a short code, for a larger frame, say? Then a path may have it. */
static __always_inline bool unwind_is_plain(struct unwind_walk *w,
					    const struct abi_unwind_rule *rule)
{
	__u64 at = w->frames - 1, below = -(__s64)rule->bp_offset;

	barrier_var(at);
	if (at >= ABI_MAX_FRAMES || (rule->kind != ABI_UNWIND_SP && rule->kind != ABI_UNWIND_BP))
		return false;
	if (rule->bp == ABI_UNWIND_BP_SAME)
		below = 0;
	else if (rule->bp != ABI_UNWIND_BP_AT_CFA || below & 7)
		return false;
	w->from[at].words = below / 8;
	return true;
}

static __always_inline int unwind_to(struct unwind_walk *w, const struct abi_unwind_rule *rule,
				     __u64 cfa)
{
	__u64 pc, bp = w->bp;

	if (cfa <= w->sp)
		return unwind_cut(w, ABI_CUT_NOT_RISING);
	if (!unwind_read(cfa - 8, &pc))
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	if (rule->kind != ABI_UNWIND_PLT && rule->bp != ABI_UNWIND_BP_SAME &&
	    !unwind_read((rule->bp == ABI_UNWIND_BP_AT_CFA ? cfa : w->bp) + rule->bp_offset, &bp))
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	if (!unwind_is_plain(w, rule))
		w->path_from = w->frames;
	w->pc = pc;
	w->sp = cfa;
	w->bp = bp;
	w->exact = 0;
	return 1;
}

static __always_inline int unwind_by_rule(struct unwind_walk *w, const struct abi_unwind_rule *rule)
{
	__u64 cfa;

	if (!unwind_cfa(w, rule, &cfa))
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	return unwind_to(w, rule, cfa);
}

/* Where the frame's callee has left rbx: 1 when that is in *ret, 0: with its own callee, -1. */
static __always_inline int rbx_left_by(struct stack_scratch *s, __u64 callee, __u64 *ret)
{
	__u32 number = unwind_rule_of(scratch_tell(s), callee);
	struct abi_unwind_rule *rule = bpf_map_lookup_elem(&unwind_rules, &number);
	const struct unwind_from *from;
	__u64 address;

	barrier_var(callee);
	if (!rule || callee >= ABI_MAX_FRAMES - 1)
		return -1;
	from = &s->walk.from[callee];
	if (rule->kind == ABI_UNWIND_SIGNAL)
		address = from->sp + rule->offset + SIGCONTEXT_BX;
	else if (rule->rbx == ABI_UNWIND_RBX_SAME)
		return 0;
	else if (rule->rbx == ABI_UNWIND_RBX_UNKNOWN)
		return -1;
	else
		address = from[1].sp - rule->rbx * 8; /* its CFA */
	return unwind_read(address, ret) ? 1 : -1;
}

/*
 * To the caller of a frame whose CFA is by rbx, w->later being its rule. It is looked for when it
 * is wanted: the nearest of the frames that were called from there which has saved it has the
 * value, or the register.
 */
VERIFIED_ONCE_NUMBERS int unwind_by_rbx(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	struct abi_unwind_rule *rule;
	struct unwind_walk *w;
	int i, left = 0;
	__u64 rbx = 0, at;
	__u32 number;

	if (!s)
		return 0;
	w = &s->walk;
	at = w->frames - 1;
	for (i = 0; i < UNWIND_RBX_FRAMES && at && !left; i++) {
		at--;
		barrier_var(at);
		left = rbx_left_by(s, at, &rbx);
	}
	if (!left && !at) {
		rbx = REGISTER_RBX(task_registers());
		left = 1;
	}
	number = w->later; /* Linux 6.1 takes no key from there */
	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	w->later = 0;
	if (left <= 0 || !rule)
		return unwind_cut(w, ABI_CUT_UNSUPPORTED);
	return unwind_to(w, rule, rbx + rule->offset);
}

/* By registers that are not tracked: they are those of the innermost frame. */
static __always_inline int unwind_by_register(struct unwind_walk *w,
					      const struct abi_unwind_rule *rule)
{
	struct pt_regs *regs = task_registers();

	if (w->frames != 1)
		return unwind_cut(w, ABI_CUT_UNSUPPORTED);
	if (rule->kind == ABI_UNWIND_CLONED)
		return PT_REGS_RC_CORE(regs) ? unwind_by_rule(w, rule) :
					       unwind_cut(w, ABI_CUT_NONE);
	w->path_from = w->frames;
	w->pc = PT_REGS_PARM1_CORE(regs);
	w->sp += rule->offset;
	w->exact = 0;
	return 1;
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
	address = w->exact ? interrupted_return(w->pc, w->sp, &w->instance, &slot) : 0;
	if (!address)
		return unwind_by_fp(w, ABI_CUT_NO_MAPPING);
	w->pc = address;
	w->sp = slot + 8;
	w->exact = 0;
	w->path_from = w->frames;
	return 1;
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
	if (!rule || rule->kind == ABI_UNWIND_NONE)
		return unwind_by_fp(w, ABI_CUT_NO_CFI);
	switch (rule->kind) {
	case ABI_UNWIND_END:
		return unwind_cut(w, ABI_CUT_NONE);
	case ABI_UNWIND_SIGNAL:
		return unwind_signal(s, w->sp + rule->offset);
	case ABI_UNWIND_SP:
	case ABI_UNWIND_BP:
	case ABI_UNWIND_BP_DEREF:
	case ABI_UNWIND_SP_DEREF:
	case ABI_UNWIND_PLT:
		return unwind_by_rule(w, rule);
	case ABI_UNWIND_CLONED:
	case ABI_UNWIND_RA_IN_RDI:
		return unwind_by_register(w, rule);
	case ABI_UNWIND_GO_DEPTH:
	case ABI_UNWIND_GO_CURRENT:
	case ABI_UNWIND_GO_RESUMED:
		return unwind_to_goroutine(ref, code);
	case ABI_UNWIND_RBX:
		return unwind_later(w, code);
	default:
		return unwind_cut(w, ABI_CUT_UNSUPPORTED);
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
	/*
	 * The stack begins here. But a frame pointer that was none leads anywhere, to frames of an
	 * earlier call, say, and from there by good information to a 0 that proves nothing.
	 */
	w->path_from = PATH_NEVER;
	if (!w->pc && w->frames)
		return unwind_cut(w, w->any_fp ? ABI_CUT_NO_CFI : ABI_CUT_NONE);
	w->path_from = w->frames + w->exact;
	if (!w->exact)
		w->pc = original_return_address(w->pc, w->sp - 8, &w->instance);
	return 1;
}

static __always_inline void unwind_save(struct unwind_walk *w, const struct unwind_regs *regs,
					__u64 n)
{
	w->pc = regs->pc;
	w->sp = regs->sp;
	w->bp = regs->bp;
	w->frames = n;
}

static __always_inline void unwind_load(const struct unwind_walk *w, struct unwind_regs *ret)
{
	ret->pc = w->pc;
	ret->sp = w->sp;
	ret->bp = w->bp;
}

/* One step by a short code, from the window. */
static __always_inline int unwind_short(struct stack_scratch *s, struct unwind_regs *regs,
					__u32 code)
{
	struct unwind_walk *w = &s->walk;
	__u64 base = code & UNWIND_CODE_BP ? regs->bp : regs->sp;
	__u64 cfa = base + (code >> 3 & 0x7f8), words = code & UNWIND_CODE_WORDS, need, at;
	bool bp_saved = words;

	/* not `cfa <= sp`: the verifier would tell frames apart by what it learned of both */
	if ((__s64)(cfa - regs->sp) <= 0)
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
	w->exact = 0;
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
			regs.pc = w->pc;
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
		mix = unwind_mix(regs.pc + w->exact, w->seed);
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
	w->memo = unwind_memo_of(w->sp);
	w->window_next = sizeof(w->window);
	before = s->memo[w->memo % UNWIND_MEMOS].bytes;
	if (before < sizeof(w->window))
		w->window_next = (before + UNWIND_FIRST_BYTES) & ~7ULL;
	w->start_sp = w->sp;
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

	if (!unwind_refill(scratch_tell(s), w->sp, 8))
		return 0;
	w->pc = w->window[0];
	w->sp += 8;
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
							    unwind_by_rbx(ref);
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
	s->memo[w->memo % UNWIND_MEMOS].bytes = w->sp - w->start_sp;
	hash = unwind_fold(w->hash, (__u64)s->ev.flags << 32 | s->ev.frames);
	if (w->any_exact)
		for (i = 0; i < ABI_EXACT_WORDS; i++)
			hash = unwind_fold(hash, s->ev.exact[i]);
	return ABI_STACK_ID(hash);
}

#endif
