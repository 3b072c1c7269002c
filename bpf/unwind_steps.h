/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a walk over a stack (x86-64): from the registers of a frame and its rule to those of
 * its caller, or why the stack ends there. One source, compiled for BPF (unwind.bpf.h), and for the
 * library that is preloaded (sample/walk.c). Each defines before it includes this what it walks
 * with, and the two functions that are declared here:
 *
 *   unwind_side        its own state
 *   unwind_read        words of memory
 *   unwind_rbx_of      unwind_saved_rbx() of one of its frames
 */
#ifndef MEMTRACED_BPF_UNWIND_STEPS_H
#define MEMTRACED_BPF_UNWIND_STEPS_H

#include "abi_unwind.h"

/* `words` from the address on, one or two. False: they cannot be read. */
static bool unwind_read(unwind_side *side, __u64 address, __u64 *ret, __u32 words);

/* The same of a frame, 0 being the innermost, that the walk has passed. */
static int unwind_rbx_of(unwind_side *side, __u64 frame, __u64 *ret);

/* That are looked at for a register that is not tracked; ld.so has five below its frame. */
#define UNWIND_RBX_FRAMES 8

/* What a step has found; what it has not is enum abi_stack_cut. */
enum unwind_found {
	UNWIND_CALLER = ABI_CUTS, /* by the rule */
	UNWIND_GUIDED,		  /* the caller, by the frame pointer: there is no rule */
	UNWIND_INTERRUPTED,	  /* code that a signal has interrupted */
};

/* struct sigcontext, arch/x86/include/uapi/asm/sigcontext.h */
#define SIGCONTEXT_BP 80
#define SIGCONTEXT_BX 88
#define SIGCONTEXT_SP 120 /* ip follows */

/*
 * Where a return address is 0 the stack begins. But a frame pointer that was none leads anywhere,
 * to frames of an earlier call, say, and from there by good information to a 0 that proves nothing.
 */
static __always_inline int unwind_at_root(bool any_guided)
{
	return any_guided ? ABI_CUT_NO_CFI : ABI_CUT_NONE;
}

/* `why`: there is no better way. */
static __always_inline int unwind_by_frame_pointer(unwind_side *side, struct unwind_place *at,
						   enum abi_stack_cut why)
{
	__u64 frame[2];

	if (at->bp < at->sp || at->bp & 7 || !unwind_read(side, at->bp, frame, 2) || !frame[1])
		return why;
	at->sp = at->bp + sizeof(frame);
	at->bp = frame[0];
	at->pc = frame[1];
	at->exact = 0;
	return UNWIND_GUIDED;
}

/* Perhaps on another stack. */
static __always_inline int unwind_from_signal(unwind_side *side, struct unwind_place *at,
					      __u64 context)
{
	__u64 sp_pc[2];

	if (!unwind_read(side, context + SIGCONTEXT_BP, &at->bp, 1) ||
	    !unwind_read(side, context + SIGCONTEXT_SP, sp_pc, 2))
		return ABI_CUT_UNREADABLE;
	at->sp = sp_pc[0];
	at->pc = sp_pc[1];
	at->exact = 1;
	return UNWIND_INTERRUPTED;
}

/* The caller's frame is further out. Signed: by a `cfa <= sp` the verifier tells frames apart. */
static __always_inline bool unwind_rises(__u64 sp, __u64 cfa)
{
	return (__s64)(cfa - sp) > 0;
}

/* By the rule, but for its CFA, which is here. */
static __always_inline int unwind_to(unwind_side *side, struct unwind_place *at,
				     const struct abi_unwind_rule *rule, __u64 cfa)
{
	__u64 pc, bp = at->bp;

	if (!unwind_rises(at->sp, cfa))
		return ABI_CUT_NOT_RISING;
	if (!unwind_read(side, cfa - 8, &pc, 1))
		return ABI_CUT_UNREADABLE;
	if (rule->kind != ABI_UNWIND_PLT && rule->bp != ABI_UNWIND_BP_SAME &&
	    !unwind_read(side, (rule->bp == ABI_UNWIND_BP_AT_CFA ? cfa : at->bp) + rule->bp_offset,
			 &bp, 1))
		return ABI_CUT_UNREADABLE;
	at->pc = pc;
	at->sp = cfa;
	at->bp = bp;
	at->exact = 0;
	return UNWIND_CALLER;
}

static __always_inline bool unwind_cfa(unwind_side *side, const struct unwind_place *at,
				       const struct abi_unwind_rule *rule, __u64 *ret)
{
	__u64 base = rule->kind == ABI_UNWIND_SP_DEREF ? at->sp : at->bp;

	switch (rule->kind) {
	case ABI_UNWIND_SP:
		*ret = at->sp + rule->offset;
		return true;
	case ABI_UNWIND_BP:
		*ret = at->bp + rule->offset;
		return true;
	case ABI_UNWIND_PLT:
		*ret = at->sp + rule->offset + ((at->pc & 15) >= (__u64)rule->bp_offset ? 8 : 0);
		return true;
	default:
		if (!unwind_read(side, base + ABI_UNWIND_DEREF_AT(rule->offset), ret, 1))
			return false;
		*ret += ABI_UNWIND_DEREF_THEN(rule->offset);
		return true;
	}
}

/* By a rule that needs no more than memory and these registers; of others it says UNSUPPORTED. */
static __always_inline int unwind_by_rule(unwind_side *side, struct unwind_place *at,
					  const struct abi_unwind_rule *rule)
{
	__u64 cfa;

	switch (rule->kind) {
	case ABI_UNWIND_NONE:
		return unwind_by_frame_pointer(side, at, ABI_CUT_NO_CFI);
	case ABI_UNWIND_END:
		return ABI_CUT_NONE;
	case ABI_UNWIND_SIGNAL:
		return unwind_from_signal(side, at, at->sp + rule->offset);
	case ABI_UNWIND_SP:
	case ABI_UNWIND_BP:
	case ABI_UNWIND_BP_DEREF:
	case ABI_UNWIND_SP_DEREF:
	case ABI_UNWIND_PLT:
		if (!unwind_cfa(side, at, rule, &cfa))
			return ABI_CUT_UNREADABLE;
		return unwind_to(side, at, rule, cfa);
	default:
		return ABI_CUT_UNSUPPORTED;
	}
}

/*
 * Is the caller found by words at fixed places of the stack? Then a later walk that comes to the
 * frame in the same registers can compare these.
 */
static __always_inline bool unwind_is_plain(const struct abi_unwind_rule *rule)
{
	return (rule->kind == ABI_UNWIND_SP || rule->kind == ABI_UNWIND_BP) &&
	       (rule->bp == ABI_UNWIND_BP_SAME ||
		(rule->bp == ABI_UNWIND_BP_AT_CFA && rule->bp_offset <= -16 &&
		 !(rule->bp_offset & 7)));
}

/*
 * Where a frame with this rule, sp and CFA has left its caller's rbx: 1 when that is in *ret,
 * 0: with its own callee, -1: that is not known.
 */
static __always_inline int unwind_saved_rbx(unwind_side *side, const struct abi_unwind_rule *rule,
					    __u64 sp, __u64 cfa, __u64 *ret)
{
	__u64 address;

	if (rule->kind == ABI_UNWIND_SIGNAL)
		address = sp + rule->offset + SIGCONTEXT_BX;
	else if (rule->rbx == ABI_UNWIND_RBX_SAME)
		return 0;
	else if (rule->rbx == ABI_UNWIND_RBX_UNKNOWN)
		return -1;
	else
		address = cfa - rule->rbx * 8;
	return unwind_read(side, address, ret, 1) ? 1 : -1;
}

/*
 * To the caller of the outermost of `frames`, whose CFA is by rbx. That is looked for when it is
 * wanted: the nearest of the frames that were called from there which has saved it has the value,
 * or the register, as the innermost one found it.
 */
static __always_inline int unwind_by_rbx(unwind_side *side, struct unwind_place *at,
					 const struct abi_unwind_rule *rule, __u64 frames,
					 __u64 reg)
{
	__u64 callee = frames - 1, rbx = 0;
	int left = 0;

	for (int i = 0; i < UNWIND_RBX_FRAMES && callee && !left; i++)
		left = unwind_rbx_of(side, --callee, &rbx);
	if (left < 0 || (!left && callee))
		return ABI_CUT_UNSUPPORTED;
	return unwind_to(side, at, rule, (left ? rbx : reg) + rule->offset);
}

#endif
