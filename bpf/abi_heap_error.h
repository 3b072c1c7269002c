/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --heap-errors and the counts of wrong uses of the heap share besides bpf/abi.h:
 * bpf/heap_error.bpf.h keeps it, trace/live/cuts/live_notes.c reads it.
 */
#ifndef MEMTRACED_BPF_ABI_HEAP_ERROR_H
#define MEMTRACED_BPF_ABI_HEAP_ERROR_H

#include "abi.h"

/* Wrong uses of the heap, as in user/trace/record/record_cut.h. */
enum abi_heap_error_kind {
	ABI_INVALID_FREE = 1,
	ABI_DOUBLE_FREE,
	ABI_MISMATCHED_FREE,
	ABI_FOREIGN_FREE,
	ABI_FAILED_ALLOCATION,
	ABI_SUSPICIOUS_SIZE,
	ABI_REALLOC_ZERO,
};
/* Errors with a record of their own; of further ones each process has the number. */
#define ABI_HEAP_ERRORS 4096

struct abi_heap_error_key {
	__u64 stack;
	__u32 image; /* abi_proc.image */
	__u16 fn;
	__u16 kind; /* enum abi_heap_error_kind */
};

/* All but the count is of the first time. */
struct abi_heap_error {
	__u64 count;
	__u64 time_ns;
	__u64 addr;		/* that was passed */
	__u64 size;		/* that was asked for */
	__u64 block;		/* the one that addr is in, or was; 0: not known */
	struct abi_block about; /* it */
	__u64 freed_stack;	/* where it was freed before, */
	__u16 freed_fn;		/* and by what; 0: not known */
	__u16 pad;
	__u32 tid; /* by which thread */
};

/* --heap-errors: a freed block. */
#define ABI_FREED_BLOCKS (1 << 16)
struct abi_freed {
	struct abi_block block;
	__u64 stack;
	__u16 fn;
	__u16 pad[3];
};

#ifndef __bpf__
static_assert(sizeof(struct abi_heap_error_key) == 16, "abi_heap_error_key");
static_assert(sizeof(struct abi_heap_error) == 80, "abi_heap_error");
#endif

#endif
