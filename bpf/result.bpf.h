/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the result of an allocator call means, by its kind: the block that there is now, or a
 * failure.
 */
#ifndef MEMTRACED_RESULT_BPF_H
#define MEMTRACED_RESULT_BPF_H

#include "account.bpf.h"

static __always_inline void call_failed(struct abi_proc *proc, struct thread *t)
{
	/* A call that it is inside may try again. */
	t->call.failed = !t->call.within;
	__sync_fetch_and_add(&proc->failed, t->call.failed);
}

/* The old block of a call that replaces it: it is gone, or it stays as it was and is put back. */
static __always_inline void old_block_ends(struct abi_proc *proc, __u32 slot, struct thread *t,
					   bool gone, bool failed)
{
	if (failed)
		call_failed(proc, t);
	t->call.released = gone && t->call.old_from != BLOCK_UNKNOWN;
	if (gone)
		realloc_release(slot, t);
	else
		block_put_back(slot, t->call.ptr, &t->call.old, t->call.old_from);
}

/* The new block of a realloc; 0: there is none, and what that means is done. */
static __always_inline __u64 realloc_result(struct abi_proc *proc, __u32 slot, struct thread *t,
					    __u64 addr, __u8 kind)
{
	const struct alloc_call *call = &t->call;
	bool done = addr || (call->ptr && call->size == 0 && call->realloc0_frees);

	old_block_ends(proc, slot, t, done || (kind & ABI_FAILURE_FREES), !done);
	return addr;
}

/*
 * xallocx returns the block's real size, which is no less than what was asked for at the least
 * where it could do it. What it was asked for on top counts as far as it is there.
 */
static __always_inline __u64 resize_result(struct abi_proc *proc, __u32 slot, struct thread *t,
					   __u64 real)
{
	struct alloc_call *call = &t->call;
	bool done = real >= call->size;

	old_block_ends(proc, slot, t, done, !done);
	if (!done)
		return 0;
	call->size = real - call->size < call->extra ? real : call->size + call->extra;
	return call->ptr;
}

/* posix_memalign returns 0 and stores the block; anything else is a failure. */
static __always_inline __u64 out_param_result(struct abi_proc *proc, struct thread *t, __u64 result)
{
	__u64 addr;

	if ((__u32)result) {
		call_failed(proc, t);
		return 0;
	}
	if (!bpf_probe_read_user(&addr, sizeof(addr), (void *)t->call.ptr) && addr)
		return addr;
	proc_lost(proc, ABI_LOST_OUT_PARAM);
	return 0;
}

static __always_inline __u64 alloc_result(struct abi_proc *proc, struct thread *t, __u64 result)
{
	if (!result)
		call_failed(proc, t);
	return result;
}

/* Of strings longer than these chunks the size is not known. */
#define STRING_CHUNK 255
#define STRING_CHUNKS 16 /* of a span */
#define STRING_SPAN (STRING_CHUNKS * STRING_CHUNK)
#define STRING_SPANS 16

/* Bytes of a string with the 0 at its end; 0: it cannot be read; STRING_SPAN + 1: it is longer. */
VERIFIED_ONCE_NUMBERS __u64 string_bytes_in_span(__u64 addr)
{
	char chunk[STRING_CHUNK + 1];
	__u64 before;
	long n;

	for (before = 0; before < STRING_SPAN; before += STRING_CHUNK) {
		/* A string that is cut gets a 0 as well. */
		n = bpf_probe_read_user_str(chunk, sizeof(chunk), (void *)(addr + before));
		if (n <= 0)
			return 0;
		if (n <= STRING_CHUNK)
			return before + n;
	}
	return STRING_SPAN + 1;
}

/* The same of the whole string; 0: it is longer, or it cannot be read. */
VERIFIED_ONCE_NUMBERS __u64 string_bytes(__u64 addr)
{
	__u64 before, n;

	/* Spans are verified once, where one loop over all chunks is 4,000 instructions. */
	for (before = 0; before < STRING_SPANS * STRING_SPAN; before += STRING_SPAN) {
		n = string_bytes_in_span(addr + before);
		if (n <= STRING_SPAN)
			return n ? before + n : 0;
	}
	return 0;
}

static __always_inline __u64 string_result(struct abi_proc *proc, struct thread *t, __u64 addr)
{
	if (!alloc_result(proc, t, addr))
		return 0;
	t->call.size = string_bytes(addr);
	if (t->call.size)
		return addr;
	proc_lost(proc, ABI_LOST_OUT_PARAM);
	return 0;
}

#endif
