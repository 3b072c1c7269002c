/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By which form did the program ask for a block, or give it back: malloc and free, new and delete,
 * new[] and delete[]. Those of C++ often only call, or jump to, C's, which alone are counted; an
 * entry probe then leaves a mark with its stack pointer. Who begins is asked whether it was called
 * by the one that has left the mark. Only with --heap-errors, and where stacks are walked.
 */
#ifndef MEMTRACED_FORM_BPF_H
#define MEMTRACED_FORM_BPF_H

#include "nesting.bpf.h"
#include "return_address.bpf.h"

/*
 * Has a call of this form done what a mark was for? One that is not known may be within the marked
 * one, as that of a new handler, after which new asks once more.
 */
static __always_inline bool form_is_of_mark(__u32 form)
{
	return form == ABI_FORM_NEW || form == ABI_FORM_ARRAY;
}

#if !NESTING_BY_CFI

static __always_inline int mark_add(__u32 slot, __u64 sp, __u64 fp, __u64 link, __u32 form_which)
{
	(void)slot, (void)sp, (void)fp, (void)link, (void)form_which;
	return 0;
}

/* There are no walks. */
static __always_inline __u32 call_form(__u32 slot, __u64 sp, __u64 fp, __u64 link, __u32 which)
{
	(void)slot, (void)sp, (void)fp, (void)link, (void)which;
	return ABI_FORM_UNKNOWN;
}

static __always_inline void mark_used(__u32 slot, __u32 which)
{
	(void)slot, (void)which;
}

#else

/*
 * The thread's marks. A thread that is new, of a process that ran before it was traced, may be in a
 * marked function whose entry was not seen.
 */
static __always_inline struct mark *mark_get(__u32 slot, __u32 which)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct marks *found = bpf_map_lookup_elem(&marks, &tid);

	if (found && found->slot == slot)
		return &found->mark[which & 1];
	/* These zeros are long enough; others would be a difference between the two builds. */
	_Static_assert(sizeof(no_thread) >= sizeof(struct marks), "zeros of marks");
	bpf_map_update_elem(&marks, &tid, &no_thread, BPF_ANY);
	found = bpf_map_lookup_elem(&marks, &tid);
	if (!found)
		return NULL;
	found->slot = slot;
	if (!knob_whole_life)
		found->mark[0].first = found->mark[1].first = 1;
	return &found->mark[which & 1];
}

/* How what begins stands to a marked call: enum nesting, NESTING_SAME where that has called it. */
static __always_inline int mark_nesting(const struct mark_place *at, __u32 slot, __u64 sp, __u64 fp,
					__u64 link)
{
	__u64 below = at->sp - sp;

	if (!at->sp || below >= NESTING_RANGE || return_address(at->sp, link) != at->link)
		return NESTING_OVER;
	return below ? nesting_caller(slot, sp, fp, at->sp) : NESTING_SAME; /* it has jumped */
}

/* What has no mark is of its own form, unless that of a call further up has been hidden. */
VERIFIED_ONCE_NUMBERS __u32 form_unmarked(__u32 slot, __u64 sp, __u64 fp, __u64 link, __u32 which)
{
	struct mark *mark = mark_get(slot, which);

	if (!mark)
		return ABI_FORM_UNKNOWN;
	if (mark->first) {
		mark->first = 0;
		return ABI_FORM_UNKNOWN;
	}
	if (mark_nesting(&mark->hidden, slot, sp, fp, link) != NESTING_OVER)
		return ABI_FORM_UNKNOWN;
	mark->hidden.sp = 0;
	return ABI_FORM_OWN;
}

/* Neither of enum abi_form. */
#define FORM_UNMARKED 8

VERIFIED_ONCE_NUMBERS __u32 form_marked(__u32 slot, __u64 sp, __u64 fp, __u64 link, __u32 which)
{
	struct mark *mark = mark_get(slot, which);
	int r = NESTING_OVER;

	if (!mark)
		return ABI_FORM_UNKNOWN;
	if (mark->form)
		r = mark_nesting(&mark->at, slot, sp, fp, link);
	if (r == NESTING_SAME)
		return mark->form;
	return r == NESTING_OVER ? FORM_UNMARKED : ABI_FORM_UNKNOWN;
}

/*
 * The form of what begins with these registers. which: enum form_of. One after the other, since all
 * of a chain of calls has 512 bytes of stack (6.1).
 */
static __always_inline __u32 call_form(__u32 slot, __u64 sp, __u64 fp, __u64 link, __u32 which)
{
	__u32 form = form_marked(slot, sp, fp, link, which);

	return form == FORM_UNMARKED ? form_unmarked(slot, sp, fp, link, which) : form;
}

/* A marked function begins. One that another one has called is that one's. */
VERIFIED_ONCE_NUMBERS int mark_add(__u32 slot, __u64 sp, __u64 fp, __u64 link, __u32 form_which)
{
	__u32 which = form_which >> 8 & 1, form = form_which & ABI_FORM_MASK;
	struct mark *mark = mark_get(slot, which);
	int r = NESTING_OVER;

	if (!mark)
		return 0;
	if (mark->form)
		r = mark_nesting(&mark->at, slot, sp, fp, link);
	if (r == NESTING_SAME)
		form = mark->form;
	else if (r != NESTING_OVER)
		mark->hidden = mark->at;
	mark->form = form;
	mark->first = 0;
	mark->at.sp = sp;
	mark->at.link = return_address(sp, link);
	return 0;
}

/* What the mark was for has been done. */
VERIFIED_ONCE_NUMBERS int mark_used(__u32 slot, __u32 which)
{
	struct mark *mark = mark_get(slot, which);

	if (mark)
		mark->form = ABI_FORM_OWN;
	return 0;
}

#endif

#endif
