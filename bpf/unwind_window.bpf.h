/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all parts of a walk share: the window through which it reads the stack, and why it ends.
 */
#ifndef MEMTRACED_UNWIND_WINDOW_BPF_H
#define MEMTRACED_UNWIND_WINDOW_BPF_H

#include "abi_unwind.h"
#include "stack_scratch.bpf.h"

#include <bpf/bpf_helpers.h>

#define UNWIND_PAGE_MASK 4095ULL

/* Registers of the frame that is next, out of the walk's memory. */
struct unwind_regs {
	__u64 pc, sp, bp, exact;
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

static __always_inline bool unwind_read(__u64 address, __u64 *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

/* Reads the window from `address` on, `need` bytes at least. */
VERIFIED_ONCE_NUMBERS int unwind_refill(scratch_ref ref, __u64 address, __u64 need)
{
	struct stack_scratch *s = scratch_told(ref);
	__u64 rest = UNWIND_PAGE_MASK + 1 - (address & UNWIND_PAGE_MASK), len, room;
	struct unwind_memo *memo;
	struct unwind_walk *w;

	if (!s)
		return 0;
	w = &s->walk;
	memo = &s->memo[w->thread % UNWIND_MEMOS];
	len = w->window_next;
	room = memo->end - address;
	if (room >= need && room < len)
		len = room;
	if (len > sizeof(w->window))
		len = sizeof(w->window);
	w->window_at = address;
	w->window_len = len;
	w->window_next = sizeof(w->window);
	if (!bpf_probe_read_user(w->window, len, (void *)address))
		return 1;
	w->window_len = 0;
	if (rest < need || rest > UNWIND_PAGE_MASK ||
	    bpf_probe_read_user(w->window, rest, (void *)address))
		return unwind_cut(w, ABI_CUT_UNREADABLE);
	memo->end = address + rest;
	w->window_len = rest;
	return 1;
}

#endif
