/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two questions to the stack about an allocator call that was entered with a stack pointer: is it
 * one of the callers of what runs now, and is its return address still in its place? Kernels before
 * 5.15 have the second alone, and arm64 asks the first of frame records.
 */
#ifndef MEMTRACED_NESTING_WALK_BPF_H
#define MEMTRACED_NESTING_WALK_BPF_H

#include "stack.bpf.h"

#if WALKS_BY_CFI && !defined(OLD_KERNEL)
#define NESTING_BY_CFI 1
#else
#define NESTING_BY_CFI 0
#endif

enum nesting {
	NESTING_SEARCH, /* more frames have to be seen */
	NESTING_OVER,	/* the other call has been left */
	NESTING_APART,	/* it is not known to be over, and this one is not inside */
	NESTING_INSIDE,
	NESTING_GUESSED, /* by its place it is inside */
	NESTING_SAME,	 /* as if it had been jumped to from the other one */
	NESTING_UNKNOWN,
};

/* Times UNWIND_FRAMES_AT_ONCE, or RECORDS_AT_ONCE. */
#define NESTING_WALKS 16

#if NESTING_BY_CFI

/* Where the walk is, against the place of the other call's return address. */
static __always_inline int nesting_at(const struct unwind_walk *w, __u64 outer)
{
	__s64 above = w->at.sp - 8 - outer;

	if (w->at.exact)
		return NESTING_APART; /* a signal came between */
	if (!above)
		return NESTING_INSIDE;
	if (above < 0)
		return NESTING_SEARCH;
	/* A frame pointer may have led anywhere. */
	return w->any_fp ? NESTING_UNKNOWN : NESTING_OVER;
}

/* One frame; false when the walk is over. */
static __always_inline bool nesting_step(struct stack_scratch *s, struct unwind_cache *cache)
{
	struct unwind_walk *w = &s->walk;
	struct unwind_regs regs;
	__u64 mix, word;
	__u32 code;
	int r;

	w->frames = 1;
	if (!(w->at.pc & UNWIND_PAGE_MASK) && !unwind_page_start(scratch_tell(s)))
		return false;
	mix = unwind_mix(w->at.pc + w->at.exact, w->seed);
	word = cache->word[mix & (UNWIND_CACHE_WORDS - 1)];
	code = word & UNWIND_CODE_MASK;
	if ((word ^ mix) >> UNWIND_CACHE_BITS)
		code = unwind_find(scratch_tell(s), mix);
	if (!(code & UNWIND_CODE_SHORT))
		return unwind_step(scratch_tell(s), code);
	unwind_load(w, &regs);
	r = unwind_short(s, &regs, code);
	unwind_save(w, &regs, 1);
	return r;
}

VERIFIED_ONCE_NUMBERS int nesting_frames(scratch_ref ref, __u64 outer)
{
	struct stack_scratch *s = scratch_told(ref);
	struct unwind_cache *cache = unwind_cache();
	int i, r;

	if (!s || !cache)
		return NESTING_UNKNOWN;
	for (i = 0; i < UNWIND_FRAMES_AT_ONCE; i++) {
		r = nesting_at(&s->walk, outer);
		if (r != NESTING_SEARCH)
			return r;
		/* A stack that ends below the other call is another one. */
		if (!nesting_step(s, cache))
			return s->walk.cut == ABI_CUT_NONE ? NESTING_APART : NESTING_UNKNOWN;
	}
	return NESTING_SEARCH;
}

/* From a function's entry to its caller. */
static __always_inline int nesting_begin(struct stack_scratch *s, __u32 slot, __u64 sp, __u64 fp)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct unwind_walk *w = &s->walk;

	w->at.sp = sp;
	w->at.bp = fp;
	w->at.exact = 0;
	w->kept = ABI_MAX_FRAMES;
	w->seed = proc ? stack_seed(proc) : 0;
	w->slot = slot;
	unwind_begin(s, false);
	return proc && unwind_return(s) ? NESTING_SEARCH : NESTING_UNKNOWN;
}

/*
 * Walks from a function's entry until it is known how that stands to the call that was entered at
 * `outer`.
 */
VERIFIED_ONCE_NUMBERS int nesting_walk(__u32 slot, __u64 sp, __u64 fp, __u64 outer)
{
	struct stack_scratch *s = scratch_get();
	int i, r;

	if (!s)
		return NESTING_UNKNOWN;
	r = nesting_begin(s, slot, sp, fp);
	for (i = 0; i < NESTING_WALKS && r == NESTING_SEARCH; i++)
		r = nesting_frames(scratch_tell(s), outer);
	scratch_put(s);
	return r == NESTING_SEARCH ? NESTING_UNKNOWN : r;
}

/* The walk's first frame: NESTING_SAME if it is that of the other call. */
VERIFIED_ONCE_NUMBERS int nesting_first(scratch_ref ref, __u64 outer)
{
	struct stack_scratch *s = scratch_told(ref);
	struct unwind_cache *cache = unwind_cache();
	struct unwind_walk *w;

	if (!s || !cache || !nesting_step(s, cache))
		return NESTING_UNKNOWN;
	w = &s->walk;
	return w->at.sp - 8 == outer && !w->at.exact && !w->any_fp ? NESTING_SAME : NESTING_SEARCH;
}

/* As nesting_walk(), but NESTING_SAME where that call itself has called this one. */
VERIFIED_ONCE_NUMBERS int nesting_caller(__u32 slot, __u64 sp, __u64 fp, __u64 outer)
{
	struct stack_scratch *s = scratch_get();
	int i, r;

	if (!s)
		return NESTING_UNKNOWN;
	r = nesting_begin(s, slot, sp, fp);
	if (r == NESTING_SEARCH)
		r = nesting_first(scratch_tell(s), outer);
	for (i = 0; i < NESTING_WALKS && r == NESTING_SEARCH; i++)
		r = nesting_frames(scratch_tell(s), outer);
	scratch_put(s);
	return r == NESTING_SEARCH ? NESTING_UNKNOWN : r;
}

#endif

/*
 * Is the place of the call's return address unchanged since it began? A call of another
 * function from the same place would change it. `link`: arm64's, when something begins there.
 */
VERIFIED_ONCE_NUMBERS int nesting_stands(__u64 sp, __u64 link, __u64 before)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 word;

	if (before)
		return return_address(sp, link) == before;
	return link_read(link, sp, &word) && is_return_trampoline(task, word);
}

/* What frame_record_below() says beside a record's address, whose low bits are 0. */
#define RECORD_IS_LAST 1
#define RECORD_IS_HANDLERS 2
#define RECORD_BITS 7ULL

#define RECORDS_AT_ONCE 8

/*
 * From the frame record at fp on, the last one below `outer` (marked so), or one a few frames on;
 * 0: the chain ends before. A signal's handler returns to code that asks for rt_sigreturn.
 */
VERIFIED_ONCE_NUMBERS __u64 frame_record_below(__u64 fp, __u64 outer)
{
	__u64 record[2], code;
	int i;

	for (i = 0; i < RECORDS_AT_ONCE; i++) {
		if (fp & RECORD_BITS || bpf_probe_read_user(record, sizeof(record), (void *)fp))
			return 0;
		if (!bpf_probe_read_user(&code, sizeof(code),
					 (void *)UNSIGNED_ADDRESS(record[1])) &&
		    code == SIGRETURN_CODE)
			return fp | RECORD_IS_HANDLERS;
		if (record[0] >= outer)
			return fp | RECORD_IS_LAST;
		if (record[0] <= fp)
			return 0;
		fp = record[0];
	}
	return fp;
}

/*
 * The same by frame records, which arm64's code keeps: the outer call has its own below its stack
 * pointer, with the return address that it had when it began.
 */
VERIFIED_ONCE_NUMBERS int nesting_by_records(__u64 sp, __u64 fp, __u64 outer, __u64 before)
{
	__u64 link = 0;
	int i;

	if (fp < sp || fp >= outer)
		return NESTING_UNKNOWN; /* who calls has none, or one above */
	for (i = 0; i < NESTING_WALKS && fp && !(fp & RECORD_BITS); i++)
		fp = frame_record_below(fp, outer);
	if (!fp || fp & RECORD_IS_HANDLERS)
		return NESTING_APART;
	if (!(fp & RECORD_IS_LAST) ||
	    bpf_probe_read_user(&link, sizeof(link), (void *)(fp & ~RECORD_BITS) + 8))
		return NESTING_UNKNOWN;
	return nesting_stands(outer, link, before) ? NESTING_INSIDE : NESTING_OVER;
}

#endif
