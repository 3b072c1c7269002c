/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The allocator calls that threads are in. User space asks only whether there are any that began
 * before a change of probes (user/trace/bpf/calls_in_flight.h).
 */
#ifndef MEMTRACED_BPF_ABI_CALLS_H
#define MEMTRACED_BPF_ABI_CALLS_H

#include "abi.h"

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
	__u8 within;	   /* 1 + the place of the suspended call that it is inside: inner.bpf.h */
	__u8 inner;	   /* suspended: there is a list of blocks that were made inside it */
	__u8 released : 1; /* at the return: `old` has left the books */
	__u8 is_sited : 1; /* it began when all sites of its function were probed */
	__u8 guessed;	   /* calls that are taken for a part of it: its return is the proof */
};

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

struct suspended_key {
	__u32 tid;
	__u32 place; /* in thread.suspended_sp */
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

#endif
