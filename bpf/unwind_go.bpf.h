/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a thread's stack, on which Go calls C and its own run-time, to the goroutine's (Go's
 * runtime/asm_amd64.s: asmcgocall, systemstack). Of a goroutine (struct g) the first two words are
 * the bounds of its stack; where others are the code says, of which user/elf/cfi/cfi_go.c makes
 * rules.
 */
#ifndef MEMTRACED_UNWIND_GO_BPF_H
#define MEMTRACED_UNWIND_GO_BPF_H

#include "unwind_maps.bpf.h"
#include "unwind_window.bpf.h"

/* The goroutine that the thread executes, or whose work it does; 0: none. */
static __always_inline bool go_current(struct stack_scratch *s, const struct abi_unwind_rule *rule,
				       __u64 *ret)
{
	return unwind_read(s, thread_pointer() + rule->bp_offset, ret, 1) &&
	       unwind_read(s, *ret + ABI_UNWIND_GO_M(rule->offset), ret, 1) &&
	       unwind_read(s, *ret + ABI_UNWIND_GO_CURG(rule->offset), ret, 1);
}

/* Goes on with the goroutine where it is. Its stack pointer is followed by its code address. */
static __always_inline int go_resume(struct stack_scratch *s, const struct abi_unwind_rule *rule)
{
	struct unwind_walk *w = &s->walk;
	__u64 g, bounds[2], sp_pc[2];

	if (!go_current(s, rule, &g))
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	if (!g && rule->kind == ABI_UNWIND_GO_RESUMED)
		return unwind_cut(w, ABI_CUT_NONE); /* the thread has left it, and looks for one */
	if (!unwind_read(s, g, bounds, 2) ||
	    !unwind_read(s, g + ABI_UNWIND_GO_SP(rule->offset), sp_pc, 2) || sp_pc[0] < bounds[0] ||
	    sp_pc[0] >= bounds[1])
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	w->at.sp = sp_pc[0];
	w->at.pc = sp_pc[1];
	if (rule->kind == ABI_UNWIND_GO_RESUMED)
		return 1;
	w->at.sp += 8;
	return unwind_read(s, sp_pc[0], &w->at.pc, 1) ? 1 : unwind_cut(w, ABI_CUT_UNREADABLE);
}

/* The caller of asmcgocall, which has kept the goroutine, and how deep its stack is. */
static __always_inline int go_return(struct stack_scratch *s, const struct abi_unwind_rule *rule)
{
	struct unwind_walk *w = &s->walk;
	__u64 g, depth, bounds[2];

	if (!unwind_read(s, w->at.sp + ABI_UNWIND_DEREF_AT(rule->offset), &g, 1) ||
	    !unwind_read(s, w->at.sp + ABI_UNWIND_DEREF_THEN(rule->offset), &depth, 1) ||
	    !unwind_read(s, g, bounds, 2) || !depth || depth > bounds[1] - bounds[0] ||
	    !unwind_read(s, bounds[1] - depth, &w->at.pc, 1))
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	w->at.sp = bounds[1] - depth + 8;
	return 1;
}

/* By the rule of that number. A function of its own, for its stack. */
VERIFIED_ONCE_NUMBERS int unwind_to_goroutine(scratch_ref ref, __u32 number)
{
	struct stack_scratch *s = scratch_told(ref);
	struct abi_unwind_rule *rule;
	struct unwind_walk *w;

	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	if (!s || !rule)
		return 0;
	w = &s->walk;
	w->at.exact = 0;
	w->path_from = w->frames;
	return rule->kind == ABI_UNWIND_GO_DEPTH ? go_return(s, rule) : go_resume(s, rule);
}

#endif
