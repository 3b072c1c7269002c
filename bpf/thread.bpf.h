/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In-flight state of each thread: the outermost allocator call it is in, others that it has begun
 * and not ended (nesting.bpf.h), its last allocation, its last free.
 */
#ifndef MEMTRACED_THREAD_BPF_H
#define MEMTRACED_THREAD_BPF_H

#include "process.bpf.h"

/* An outermost call. */
struct alloc_call {
	__u64 sp;   /* at its entry */
	__u64 link; /* by_sites: its return address */
	__u64 fp;   /* at its entry; of a call that sites see (result_site.bpf.h) */
	__u64 size; /* requested */
	union {
		__u64 extra;  /* xallocx: asked for beside, if it can be had */
		__u64 result; /* at the return: the block that there is now; 0: none */
		__u64 seen;   /* is_seen: what a site has seen that it will return */
	};
	__u64 ptr;	      /* realloc: old block; posix_memalign: where the result goes */
	struct abi_block old; /* realloc: what the old block was */
	__u16 fn;
	__u16 args;	    /* an entry: of the cookie; see STORED() */
	__u16 signal_below; /* a handler of signals began inside it: CALL_SIGNAL_BELOW, 0: none */
	__u8 kind;	    /* of the cookie; see STORED() */
	__u8 goes_on;	    /* an entry: enum goes_on; see STORED() */
	__u8 old_from;	    /* enum block_origin of `old` */
	__u8 realloc0_frees : 1; /* realloc(ptr, 0) frees and returns NULL here */
	__u8 is_scope : 1;	 /* the call is a pool's free or the like: ABI_SCOPE */
	__u8 throws : 1;	 /* the call can have ended by an exception: ABI_THROWS */
	__u8 is_product : 1;	 /* `size` is that of two numbers, each with a sign of its own */
	__u8 by_sites : 1;    /* its exits are probed, so that its return address is left alone */
	__u8 is_compared : 1; /* with what sites see of it: result_site.bpf.h */
	__u8 is_seen : 1;     /* a site has seen it */
	__u8 is_odd : 1;      /* and found something else than its entry */
	__u8 failed;	      /* at the return: there was no memory */
	__u8 form;	      /* enum abi_form */
	__u8 within;   /* 1 + the place of the suspended call that it is inside: inner.bpf.h */
	__u8 inner;    /* suspended: there is a list of blocks that were made inside it */
	__u8 released; /* at the return: `old` has left the books */
	__u8 guessed;  /* calls that are taken for a part of it: its return is the proof */
};

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

/* Calls of a thread that are neither over nor what it does now. */
#define SUSPENDED_CALLS 8

struct thread {
	struct alloc_call call;
	__u64 last_key; /* newest block of this thread, 0 once it was freed */
	__u64 free_ptr; /* newest free: to tell a wrapper's inner free */
	__u64 free_sp;
	__u32 slot; /* process image this state belongs to */
	__u16 free_fn;
	__u8 busy;			     /* in `call` */
	__u8 suspended;			     /* others there are */
	__u64 suspended_sp[SUSPENDED_CALLS]; /* 0: a free place */
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
};
_Static_assert(sizeof(struct thread_place) % 64 == 0, "threads share no cache line");

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

struct suspended_key {
	__u32 tid;
	__u32 place; /* in thread.suspended_sp */
};

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
