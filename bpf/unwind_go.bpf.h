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
static __always_inline bool go_current(const struct abi_unwind_rule *rule, __u64 *ret)
{
	return unwind_read(thread_pointer() + rule->bp_offset, ret) &&
	       unwind_read(*ret + ABI_UNWIND_GO_M(rule->offset), ret) &&
	       unwind_read(*ret + ABI_UNWIND_GO_CURG(rule->offset), ret);
}

/* Goes on with the goroutine where it is. Its stack pointer is followed by its code address. */
static __always_inline int go_resume(struct unwind_walk *w, const struct abi_unwind_rule *rule)
{
	__u64 g, bounds[2], sp_pc[2];

	if (!go_current(rule, &g))
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	if (!g && rule->kind == ABI_UNWIND_GO_RESUMED)
		return unwind_cut(w, ABI_CUT_NONE); /* the thread has left it, and looks for one */
	if (bpf_probe_read_user(bounds, sizeof(bounds), (void *)g) ||
	    bpf_probe_read_user(sp_pc, sizeof(sp_pc),
				(void *)(g + ABI_UNWIND_GO_SP(rule->offset))) ||
	    sp_pc[0] < bounds[0] || sp_pc[0] >= bounds[1])
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	w->sp = sp_pc[0];
	w->pc = sp_pc[1];
	if (rule->kind == ABI_UNWIND_GO_RESUMED)
		return 1;
	w->sp += 8;
	return unwind_read(sp_pc[0], &w->pc) ? 1 : unwind_cut(w, ABI_CUT_UNREADABLE);
}

/* The caller of asmcgocall, which has kept the goroutine, and how deep its stack is. */
static __always_inline int go_return(struct unwind_walk *w, const struct abi_unwind_rule *rule)
{
	__u64 g, depth, bounds[2];

	if (!unwind_read(w->sp + ABI_UNWIND_DEREF_AT(rule->offset), &g) ||
	    !unwind_read(w->sp + ABI_UNWIND_DEREF_THEN(rule->offset), &depth) ||
	    bpf_probe_read_user(bounds, sizeof(bounds), (void *)g) || !depth ||
	    depth > bounds[1] - bounds[0] || !unwind_read(bounds[1] - depth, &w->pc))
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	w->sp = bounds[1] - depth + 8;
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
	w->exact = 0;
	w->path_from = w->frames;
	return rule->kind == ABI_UNWIND_GO_DEPTH ? go_return(w, rule) : go_resume(w, rule);
}

#endif
