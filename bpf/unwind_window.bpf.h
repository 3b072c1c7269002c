/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all parts of a walk share: the window through which it reads the stack, and why it ends.
 */
#ifndef MEMTRACED_UNWIND_WINDOW_BPF_H
#define MEMTRACED_UNWIND_WINDOW_BPF_H

#include "abi_unwind.h"
#include "stack_scratch.bpf.h"

#include <bpf/bpf_helpers.h>

typedef struct stack_scratch unwind_side; /* of unwind_steps.h */

#define UNWIND_PAGE 4096ULL
#define UNWIND_PAGE_MASK (UNWIND_PAGE - 1)

/* Read first, beside what the thread's last stack had. */
#define UNWIND_FIRST_BYTES 512

/* Registers of the frame that is next, out of the walk's memory. */
struct unwind_regs {
	__u64 pc, sp, bp;
};

static __always_inline __u64 unwind_fold(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
	return hash ^ hash >> 32;
}

static __always_inline int unwind_cut(struct unwind_walk *w, enum abi_stack_cut cut)
{
	w->cut = cut;
	return 0;
}

static __always_inline bool unwind_read(struct stack_scratch *s, __u64 address, __u64 *ret,
					__u32 words)
{
	(void)s;
	return !bpf_probe_read_user(ret, words * sizeof(*ret), (void *)address);
}

static __always_inline bool unwind_window(struct unwind_walk *w, __u64 len, __u64 need)
{
	w->window_len = len;
	return len >= need && len <= sizeof(w->window) &&
	       !bpf_probe_read_user(w->window, len, (void *)w->window_at);
}

/* Reads the window from `address` on, `need` bytes at least. */
VERIFIED_ONCE_NUMBERS int unwind_refill(scratch_ref ref, __u64 address, __u64 need)
{
	struct stack_scratch *s = scratch_told(ref);
	__u64 rest = UNWIND_PAGE - (address & UNWIND_PAGE_MASK), len, room;
	struct unwind_memo *memo;
	struct unwind_walk *w;

	if (!s)
		return 0;
	w = &s->walk;
	memo = &s->memo[w->memo % UNWIND_MEMOS];
	len = w->window_next;
	room = memo->end - address;
	if (room >= need && room < len)
		len = room;
	if (len > sizeof(w->window))
		len = sizeof(w->window);
	w->window_at = address;
	w->window_next = sizeof(w->window);
	if (unwind_window(w, len, need))
		return 1;
	/* A page of it is not there: the third, or the second. */
	if ((len <= rest + UNWIND_PAGE || !unwind_window(w, rest + UNWIND_PAGE, need)) &&
	    !unwind_window(w, rest, need)) {
		w->window_len = 0;
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	}
	memo->end = address + w->window_len;
	return 1;
}

#endif
