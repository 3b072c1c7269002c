/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --free-stacks shares besides bpf/abi.h: bpf/free_pair.bpf.h keeps it and
 * trace/live/cuts/live_notes.c reads it.
 */
#ifndef MEMTRACED_BPF_ABI_FREE_PAIR_H
#define MEMTRACED_BPF_ABI_FREE_PAIR_H

#include "abi.h"

/*
 * --free-stacks: where blocks were allocated and where they were freed, as pairs. Lifetimes by
 * powers of two: 0 holds what is below 1 << ABI_LIFETIME_SHIFT ns, n what is below twice as much
 * as n - 1 does, the last all others.
 */
#define ABI_LIFETIMES 32
#define ABI_LIFETIME_SHIFT 12

struct abi_free_key {
	__u64 stack;
	__u64 free_stack;
	__u32 image; /* abi_proc.image, of who freed */
	__u16 fn;
	__u16 free_fn;
};

struct abi_free_pair {
	__u64 count;
	__u64 bytes;
	__u64 others;  /* by another thread than allocated them; */
	__u64 unknown; /* of these neither that nor the lifetime is known */
	__u64 total_ns;
	__u64 lifetimes[ABI_LIFETIMES];
};

/* A live block's, by ABI_BLOCK_KEY; while a realloc may free it, by that of the call's sp. */
struct abi_birth {
	__u64 time_ns;
	__u32 tid;
	__u32 pad;
};

#ifndef __bpf__
static_assert(sizeof(struct abi_free_key) == 24, "abi_free_key");
static_assert(sizeof(struct abi_birth) == 16, "abi_birth");
#endif

#endif
