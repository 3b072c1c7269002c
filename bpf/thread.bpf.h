/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In-flight state of each thread: the outermost allocator call it is in, others that it has begun
 * and not ended (nesting.bpf.h), its last allocation, its last free.
 */
#ifndef MEMTRACED_THREAD_BPF_H
#define MEMTRACED_THREAD_BPF_H

#include "abi_calls.h"
#include "process.bpf.h"

/* How far below a call's sp, by 16 bytes; of several handlers the nearest counts. */
#define CALL_SIGNAL_BELOW(bytes) (1 + ((bytes) >> 4))
#define CALL_SIGNAL_BYTES(below) (((below)-1U) << 4)

/* What of the call that the thread is in goes on as the one that begins. */
enum goes_on {
	GOES_ON_SIZE = 1,  /* what it was asked for */
	GOES_ON_BLOCK = 2, /* the block that it has taken out */
};

/*
 * Read where it was stored. What the verifier knows of a value it follows through the rest of the
 * program, each way on its own; of what stands in a map's value it knows nothing, so that ways meet
 * again: of 49,452 instructions that it walked of the session program, 36,000 were left.
 */
#define STORED(place) (*(volatile typeof(place) *)&(place))

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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, struct suspended_key);
	__type(value, struct alloc_call);
} suspended_calls SEC(".maps") __weak;

/* form.bpf.h: where a marked function began, and its return address. */
struct mark_place {
	__u64 sp;
	__u64 link;
};

/* One of the two of a thread, of new and of delete. */
struct mark {
	struct mark_place at;
	struct mark_place hidden; /* one that goes on while another has the mark; sp 0: none */
	__u8 form;		  /* enum abi_form; ABI_FORM_OWN: there is no mark */
	__u8 first; /* a call may have begun before the first that was seen: it had none */
	__u8 pad[6];
};

struct marks {
	struct mark mark[2];
	__u32 slot; /* process image that they are of */
	__u32 pad;
};

enum form_of { FORM_OF_ALLOCS, FORM_OF_FREES };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32); /* thread */
	__type(value, struct marks);
} marks SEC(".maps") __weak;

static const struct thread no_thread;

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

static __always_inline struct alloc_call *suspended_call(__u32 place)
{
	struct suspended_key key = { .tid = bpf_get_current_pid_tgid(), .place = place };

	return bpf_map_lookup_elem(&suspended_calls, &key);
}

/* The thread has ended. */
static __always_inline void thread_drop(__u32 tid)
{
	struct thread_place *place = thread_place(tid);
	struct suspended_key key;
	int i;

	for (i = 0; i < SUSPENDED_CALLS; i++) {
		key = (struct suspended_key){ tid, i };
		bpf_map_delete_elem(&suspended_calls, &key);
	}
	if (knob_forms)
		bpf_map_delete_elem(&marks, &tid);
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
	struct thread *t;

#ifndef OLD_KERNEL
	if (place && __sync_val_compare_and_swap(&place->tid, 0, tid) == 0) {
		place->thread = no_thread;
		place->thread.slot = slot;
		return &place->thread;
	}
#else
	(void)place; /* claimed by compare and swap: all threads are in the map */
#endif
	bpf_map_update_elem(&threads, &tid, &no_thread, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&threads, &tid);
	if (t)
		t->slot = slot;
	return t;
}

/*
 * The thread is new to the slot: after fork, exec or with a reused tid nothing carries over. 0 when
 * there is no room (counted).
 */
VERIFIED_ONCE_NUMBERS int thread_renew(__u32 slot)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct thread *t = thread_find();
	int i;

	if (!t)
		t = thread_new(slot);
	if (!t) {
		if (proc)
			proc_lost(proc, ABI_LOST_INFLIGHT);
		return 0;
	}
	t->slot = slot;
	t->busy = 0;
	t->call.within = 0;
	t->suspended = 0;
	for (i = 0; i < SUSPENDED_CALLS; i++)
		t->suspended_sp[i] = 0;
	t->last_key = 0;
	t->free_ptr = 0;
	return 1;
}

/* The current thread's state, made when it is new; NULL (counted) when there is no room. */
static __always_inline struct thread *thread_get(__u32 slot)
{
	struct thread *t = thread_find();

	if (t && t->slot == slot)
		return t;
	return thread_renew(slot) ? thread_find() : NULL;
}

/* Stack within which what an allocator calls stays. */
#define NESTING_RANGE (256 * 1024)

#endif
