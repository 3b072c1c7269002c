/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a stack is captured: what goes to user space, and the state of the walk that fills it.
 */
#ifndef MEMTRACED_STACK_SCRATCH_BPF_H
#define MEMTRACED_STACK_SCRATCH_BPF_H

#include "abi_event.h"
#include "abi_unwind.h"

#include <bpf/bpf_helpers.h>

/*
 * Words of stack memory that are read at once, three pages at most. A read costs 50 to 110 ns and
 * 10 to 20 for each KiB: first no more is read than the thread's last stack had.
 */
#define UNWIND_WINDOW 1024

/* Registers in which a frame was found; its caller's bp is at CFA - 8 * words, 0: unchanged. */
struct unwind_from {
	__u64 sp, bp, words;
};

struct unwind_walk {
	struct unwind_place at;
	__u64 hash; /* of the frames that are folded: those without a caller first */
	__u64 frames;
	__u64 kept;	/* frames to keep */
	__u64 seed;	/* stack_seed() */
	__u64 instance; /* return instances up to here are below the frame; 0: none was looked at */
	__u64 window_at;   /* the address of window[0] */
	__u64 window_len;  /* bytes */
	__u64 window_next; /* bytes to read next time */
	__u64 start_sp;
	/* unwind_path.bpf.h, of the CPU's last stack: */
	__u64 path_frames; /* of the path, that may be met, and */
	__u64 path_above;  /* have an sp above */
	__u64 joined;	   /* frames that are shared with the path, whose first `unchecked` */
	__u64 unchecked;   /* words have to be looked at */
	__u64 path_count;  /* frames that are in the path after the walk */
	__u64 path_from;   /* own frames from here on can be in it */
	__u64 misses;	   /* of words that were not the same */
	__u64 to_fold;	   /* own frames that are not in the hash */
	__u32 slot;
	__u32 memo;	/* the thread's */
	__u32 later;	/* code by which unwind_row() finds the newest frame's caller; 0: none */
	__u8 any_fp;	/* a frame was found by its callee's frame pointer */
	__u8 cut;	/* enum abi_stack_cut */
	__u8 any_exact; /* a bit of abi_ev_stack.exact is set, by this walk or the last */
	__u8 pad;
	__u32 flags; /* of abi_ev_stack: where the walk began (event_stack) */
	__u32 pad2;
	struct unwind_from from[ABI_MAX_FRAMES];
	__u64 window[UNWIND_WINDOW];
};

/*
 * What is remembered of threads, by where their stacks are: their ids would be a call. Wrong, it
 * costs a read.
 */
#define UNWIND_MEMO_BITS 6
#define UNWIND_MEMOS (1U << UNWIND_MEMO_BITS)
struct unwind_memo {
	/* Above it, a read failed (and took a microsecond): there a stack ends. */
	__u64 end;
	__u64 bytes; /* the last stack's */
};

/* Threads' stacks lie 8 MiB apart, and begin to be used at their ends. */
static __always_inline __u32 unwind_memo_of(__u64 sp)
{
	return (sp >> 16) * 0x9e3779b97f4a7c15ULL >> (64 - UNWIND_MEMO_BITS);
}

struct stack_scratch {
	__u32 busy;
	__u32 level;
	struct abi_ev_stack ev;
	struct unwind_walk walk;
	struct unwind_memo memo[UNWIND_MEMOS];
};

/* For a walk from return addresses, or from where a thread was interrupted. */
static __always_inline void clear_exact(struct abi_ev_stack *ev, bool interrupted)
{
	__u32 i;

	ev->exact[0] = interrupted;
	for (i = 1; i < ABI_EXACT_WORDS; i++)
		ev->exact[i] = 0;
}

/*
 * Of a CPU and a level of nesting: where the kernel can be preempted, a uprobe program of another
 * thread may come between, and one of a third. Eight threads on one CPU of Linux 7.2 found two
 * levels taken for one event in a hundred.
 */
#define SCRATCH_LEVELS 16
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_LEVELS);
	__type(key, __u32);
	__type(value, struct stack_scratch);
} scratch SEC(".maps") __weak;

/* How global functions are told of it: Linux 5.10 hands them no pointers. */
#ifdef OLD_KERNEL
typedef __u32 scratch_ref;

static __always_inline scratch_ref scratch_tell(const struct stack_scratch *s)
{
	return s->level;
}

static __always_inline struct stack_scratch *scratch_told(scratch_ref ref)
{
	return bpf_map_lookup_elem(&scratch, &ref);
}
#else
typedef struct stack_scratch *scratch_ref;

static __always_inline scratch_ref scratch_tell(struct stack_scratch *s)
{
	return s;
}

static __always_inline struct stack_scratch *scratch_told(scratch_ref ref)
{
	return ref;
}
#endif

#endif
