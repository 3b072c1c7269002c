/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In-flight state of each thread: the outermost allocator call it is in, its last allocation, its
 * last free. Only the outermost call counts; whether a call is nested is told by stack pointers,
 * so that a call left by an exception or longjmp blocks nothing.
 */
#ifndef MEMTRACED_THREAD_BPF_H
#define MEMTRACED_THREAD_BPF_H

#include "process.bpf.h"

struct thread {
	__u64 sp;	      /* at the entry of the outermost call */
	__u64 size;	      /* requested */
	__u64 extra;	      /* xallocx: asked for beside, if it can be had */
	__u64 ptr;	      /* realloc: old block; posix_memalign: where the result goes */
	struct abi_block old; /* realloc: what the old block was */
	__u64 last_key;	      /* newest block of this thread, 0 once it was freed */
	__u64 free_ptr;	      /* newest free: to tell a wrapper's inner free */
	__u64 free_sp;
	__u32 slot; /* process image this state belongs to */
	__u16 fn;
	__u16 free_fn;
	__u8 busy;	     /* in an outermost call */
	__u8 old_from;	     /* enum block_origin of `old` */
	__u8 realloc0_frees; /* realloc(ptr, 0) frees and returns NULL here */
	__u8 is_scope;	     /* the call is a pool's free or the like: ABI_SCOPE */
	__u8 throws;	     /* the call can have ended by an exception: ABI_THROWS */
	__u8 pad[3];
};

/*
 * A thread's place is the entry of its low bits if it was the first to claim that, else in the hash
 * map: some 30 ns dearer, three times for each pair of malloc and free.
 */
#define THREAD_PLACES 4096
struct thread_place {
	__u32 tid; /* 0: free */
	__u32 pad;
	struct thread thread;
	__u64 pad2[3]; /* two cache lines */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* aligned: threads share no cache line */
	__uint(max_entries, THREAD_PLACES);
	__type(key, __u32);
	__type(value, struct thread_place);
} thread_places SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps") __weak;

static __always_inline struct thread_place *thread_place(__u32 tid)
{
	__u32 at = tid % THREAD_PLACES;

	return bpf_map_lookup_elem(&thread_places, &at);
}

static __always_inline struct thread *thread_find(void)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct thread_place *place = thread_place(tid);

	if (place && place->tid == tid)
		return &place->thread;
	return bpf_map_lookup_elem(&threads, &tid);
}

/* The thread has ended. */
static __always_inline void thread_drop(__u32 tid)
{
	struct thread_place *place = thread_place(tid);

	if (place && place->tid == tid)
		*(volatile __u32 *)&place->tid = 0;
	else
		bpf_map_delete_elem(&threads, &tid);
}

/* A place for a thread that has none; NULL when there is no room. */
static __always_inline struct thread *thread_new(__u32 slot)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct thread_place *place = thread_place(tid);
	struct thread fresh = { .slot = slot };

#ifndef OLD_KERNEL
	if (place && __sync_val_compare_and_swap(&place->tid, 0, tid) == 0) {
		place->thread = fresh;
		return &place->thread;
	}
#else
	(void)place; /* claimed by compare and swap: all threads are in the map */
#endif
	bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads, &tid);
}

/* The current thread's state, made when it is new; NULL (counted) when there is no room. */
static __always_inline struct thread *thread_get(struct abi_proc *proc, __u32 slot)
{
	struct thread *t = thread_find();

	if (!t)
		t = thread_new(slot);
	if (!t) {
		proc_lost(proc, ABI_LOST_INFLIGHT);
		return NULL;
	}
	if (t->slot != slot) {
		/* fork, exec or a reused tid: nothing carries over */
		t->slot = slot;
		t->busy = 0;
		t->last_key = 0;
		t->free_ptr = 0;
	}
	return t;
}

/*
 * Stack within which an allocator's inner calls stay. A busy state further away than this is
 * another stack's (a coroutine that was left inside an allocator by unwinding) and is stale.
 */
#define NESTING_RANGE (256 * 1024)

/*
 * Is a call entered with this stack pointer inside the busy one? Equal pointers are a tail call:
 * the new function takes over, but in a scope it is inside.
 */
static __always_inline bool thread_nested(const struct thread *t, __u64 sp, __u16 fn)
{
	if (!t->busy || t->sp - sp >= NESTING_RANGE)
		return false;
	return sp != t->sp || (t->is_scope && t->fn != fn);
}

#endif
