/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The books that a process keeps of its own allocations (sample/book.h), in a memfd that it shares
 * with the daemon (user/trace/books). Fixed places, so that neither side has to be told of
 * growth: the file is as long as its largest contents from the start, and what nobody wrote takes
 * no memory; the process has sealed its size. It may write anything here: the daemon believes none
 * of it.
 *
 *   header | threads | nodes of stacks | objects | sites | sites at the cut | tombs | errors |
 *   pairs | freed | blocks
 */
#ifndef MEMTRACED_BPF_ABI_BOOK_H
#define MEMTRACED_BPF_ABI_BOOK_H

#include "abi.h"
#include "abi_free_pair.h"
#include "abi_heap_error.h"

#define ABI_BOOK_MAGIC 0x6b6f6f62U
#define ABI_BOOK_VERSION 12
/* As memfd_create(2) is told it; in /proc/PID/maps behind "/memfd:". */
#define ABI_BOOK_NAME "memtraced-book"

enum abi_book_answer {
	ABI_BOOK_UNANSWERED, /* nobody reads it, or not any more */
	ABI_BOOK_READ,	     /* somebody has the file open, and reads it */
	ABI_BOOK_UNREAD,     /* it is not wanted: calls are passed on and not counted */
};

/* Calls that the process could not enter; each adds to `lost` of the header. */
enum abi_book_loss {
	ABI_BOOK_LOST_THREADS, /* no room for a thread */
	ABI_BOOK_LOST_NODES,   /* for a stack: the site's is ABI_BOOK_NO_NODE */
	ABI_BOOK_LOST_SITES,
	ABI_BOOK_LOST_BLOCKS,
	ABI_BOOK_LOST_NESTED,  /* a signal's handler allocated while its thread was at the book, or
				* it is not known whether another call goes on */
	ABI_BOOK_LOST_ADDRESS, /* a block where the book cannot name one */
	ABI_BOOK_LOST_FORK,    /* frees of blocks from before a fork that are not known any more */
	ABI_BOOK_LOST_UNKNOWN, /* allocations of blocks that are freed: by an entry of an allocator
				* that is not known */
	ABI_BOOK_LOST_PAIRS,   /* frees, for whose pair there was no room, */
	ABI_BOOK_LOST_BIRTHS,  /* and births of blocks */
	ABI_BOOK_LOST_LIMIT,   /* what is called after the process has limited its addresses */
	/* What is called by libraries that were loaded so that their calls do not come to it. */
	ABI_BOOK_LOST_BYPASSED,
	ABI_BOOK_LOSSES
};

/* Is it of what is kept beside the counts, and beside the blocks? */
static inline int abi_book_loss_is_beside(int loss)
{
	return loss == ABI_BOOK_LOST_NODES || loss == ABI_BOOK_LOST_PAIRS ||
	       loss == ABI_BOOK_LOST_BIRTHS;
}

/* What the daemon asks for beside the counts: bits of abi_book_header.wants. */
enum abi_book_want {
	ABI_BOOK_SIZES = 1,  /* blocks of some sizes alone are entered */
	ABI_BOOK_ERRORS = 2, /* --heap-errors: forms of blocks, and where they were freed */
	ABI_BOOK_FREES = 4,  /* --free-stacks: abi_book_pair */
	ABI_BOOK_CLOCK = 8,  /* lifetimes are true to a microsecond, not to the coarse clock */
};

/* What the library's probe says in place of a descriptor. */
enum abi_book_says {
	ABI_BOOK_NONE = -1, /* the process keeps none */
	/* By which rule the caller of code at this address is found: header.rule. */
	ABI_BOOK_ASKS = -2,
};

struct abi_book_header {
	__u32 magic, version;
	__u32 pid;
	__u32 answer; /* enum abi_book_answer; the daemon's, who wakes a futex on it */
	/*
	 * The daemon's: the first as of struct abi_control; blocks that are made from then on have
	 * this tick at least.
	 */
	__u32 cut_epoch, tick;
	/*
	 * Forks so far: a block that is made in era e is in children that are forked in later ones.
	 * Of how many the child no longer looks up blocks here, as it has executed a program or has
	 * ended: the daemon's.
	 */
	__u32 era, ended_forks;
	/* Of a forked child whose parent has a book: the parent's era from then on; else 0. */
	__u32 parent_era;
	__u32 reader; /* the daemon's pid, where it has one in the process's namespace */
	/* The daemon's, before it answers: enum abi_book_want, and sizes. */
	__u32 wants, pad0;
	struct abi_block_filter filter;
	/*
	 * What each call may change: a line of its own. As of struct abi_proc, but for live_bytes,
	 * which is too large by what threads have as credit.
	 */
	__s64 live_bytes;
	__s64 peak_bytes;
	__s64 cut_peak_bytes;
	__u32 peak_epoch;
	__u32 cut_epoch_seen; /* abi_proc.cut_epoch */
	__u32 cut_peak_epoch;
	__u32 pad;
	__u64 race_bytes;
	__u64 pad2[2];
	/* What is seldom. */
	__u64 failed, unknown_frees;
	/*
	 * The daemon's answer to ABI_BOOK_ASKS, struct abi_unwind_rule, and whether it has come: a
	 * futex.
	 */
	__u64 rule;
	__u32 has_rule, pad4;
	__u64 lost[ABI_BOOK_LOSSES];
	__u32 threads, nodes, sites, tombs; /* ever begun so far, which are numbered from 1 */
	__u32 doublings;		    /* of the table of blocks so far */
	__u32 errors;
	__u64 further_errors; /* for which there was no room */
	__u32 gone;	      /* entries of struct abi_book_gone, or more than there is room for */
	__u32 pairs;	      /* as `sites` */
	/* The process's: it goes on when nobody reads; it has ceased, and calls are passed on. */
	__u32 stays, passed_on;
	__u64 parent_file; /* with parent_era: the inode of the parent's book */
	__u32 loaded;	   /* times of objects, from number 1 on */
	__u32 pad5;
};

/*
 * Code that was unloaded, which older stacks may have been in: what is there now is another's. Of
 * more than there is room for, the last one says that all code went.
 */
struct abi_book_gone {
	__u64 start, end;
	__u64 time_ns; /* CLOCK_MONOTONIC; 0: it is being written */
};
#define ABI_BOOK_GONE 2048

/* A thread that keeps a book; after its end another one may go on with it. */
struct abi_book_thread {
	__u32 tid; /* 0: nobody has it */
	__u32 at;  /* odd while it is at the book */
	/* Of header.live_bytes, what is not live: the thread has freed it, and may use it again. */
	__s64 credit;
	__u32 failing; /* calls that have failed if they do not return */
	__u32 reserved[11];
};
#define ABI_BOOK_THREADS 4096

/*
 * A frame of a stack, and where the rest of the stack is: towards its beginning, which is a node
 * without a parent. That has in place of an address the time when it was made (CLOCK_MONOTONIC),
 * and says in `flags` how the stack ends. Nodes do not change. Numbers begin at 1.
 *
 * A stack's code was all there at the latest of two kinds of times: when its beginning was made,
 * and when a stack was first seen in the objects of its frames. It was taken later than all of
 * them, and code that has gone meanwhile would have begun another one.
 */
struct abi_book_node {
	__u64 address; /* as in abi_ev_stack */
	__u32 parent;
	__u32 flags;
};
#define ABI_BOOK_NO_NODE 0
#define ABI_BOOK_NODES (1U << 24)
/* Of a frame: the address is of code that was interrupted, not one that is returned to; */
#define ABI_BOOK_EXACT 1U
/* its caller was found by the frame pointer. */
#define ABI_BOOK_GUIDED 2U
/* The number of the object that it is in, of which times are told; 0: none; the last: not known. */
#define ABI_BOOK_IN_OBJECT(number) ((number) << 8)
#define ABI_BOOK_OBJECT(flags) ((flags) >> 8)
#define ABI_BOOK_FRAME_FLAGS(flags) ((flags)&0xff)
#define ABI_BOOK_OBJECTS (1U << 16)
#define ABI_BOOK_UNKNOWN_OBJECT (ABI_BOOK_OBJECTS - 1)
/* Of a beginning: enum abi_stack_cut, and a number that another one follows when code is unloaded,
 * as addresses may then mean something else. */
#define ABI_BOOK_ROOT(cut, epoch) ((cut) | (epoch) << 8)
#define ABI_BOOK_CUT(flags) ((flags)&0xff)
#define ABI_BOOK_EPOCH(flags) ((flags) >> 8)

/* By which function; the names are those of C and of the Itanium C++ ABI. */
enum abi_book_function {
	ABI_BOOK_MALLOC = 1,
	ABI_BOOK_CALLOC,
	ABI_BOOK_REALLOC,
	ABI_BOOK_MEMALIGN,
	ABI_BOOK_ALIGNED_ALLOC,
	ABI_BOOK_POSIX_MEMALIGN,
	ABI_BOOK_VALLOC,
	ABI_BOOK_PVALLOC,
	ABI_BOOK_MALLOCX,
	ABI_BOOK_RALLOCX,
	ABI_BOOK_XALLOCX,
	ABI_BOOK_NEW, /* any operator new of an allocator's own */
	ABI_BOOK_NEW_ARRAY,
	ABI_BOOK_FREE, /* makes no block, */
	ABI_BOOK_REALLOCARRAY,
	ABI_BOOK_DELETE, /* as do all from here on; as ABI_BOOK_NEW */
	ABI_BOOK_DELETE_ARRAY,
	ABI_BOOK_DALLOCX,
	ABI_BOOK_SDALLOCX,
	ABI_BOOK_FUNCTIONS
};

/*
 * What one thread has counted of one site; live counts may be negative. Peaks and epochs are as of
 * struct abi_site.
 */
struct abi_book_site {
	__u32 node; /* 0, while `thread` is: it is being written */
	__u16 function;
	__u16 thread;	  /* from 1 on */
	__u32 peak_epoch; /* of peak_bytes and now.peak_blocks */
	__u32 cut_epoch;  /* of the site's abi_book_site_cut */
	__s64 peak_bytes;
	struct abi_site_counts now;
};
/*
 * What it was at that cut, by the same number. Apart, as most processes end without one: nobody
 * writes here then. Where the site is newer, it is zero.
 */
struct abi_book_site_cut {
	__s64 peak_bytes; /* at the peak that was current then */
	struct abi_site_counts counts;
};
#define ABI_BOOK_SITES (1U << 21)

/*
 * A live block: its size, the era in which it was made (header.era), its form (enum abi_form; not
 * known where no errors were asked for) and its function's number:
 *   63    24 23      6 5    4 3        0
 *   | size  | era     | form | function |
 */
#define ABI_BOOK_SIZE_FN(size, era, form, fn)                                                      \
	((__u64)(size) << 24 | (__u64)(era) << 6 | (__u64)(form) << 4 | (__u64)(fn))
#define ABI_BOOK_SIZE(size_fn) ((size_fn) >> 24)
#define ABI_BOOK_ERA(size_fn) ((__u32)((size_fn) >> 6) & (ABI_BOOK_ERAS - 1))
#define ABI_BOOK_FORM(size_fn) ((__u32)((size_fn) >> 4) & 3)
#define ABI_BOOK_FN(size_fn) ((__u32)(size_fn)&0xf)
#define ABI_BOOK_SIZE_BITS 40
#define ABI_BOOK_ERAS (1U << 18)
struct abi_book_block {
	__u64 size_fn;
	__u32 node;
	__u32 tick; /* CLOCK_MONOTONIC in ABI_TICK_NS, of which these are the lower bits */
};
/*
 * An address is 0 where there is no block, ABI_BLOCK_BUSY where one changes hands. With the lowest
 * bit it is that of an inherited block which the process has freed; the rest says nothing then.
 */
#define ABI_BOOK_SHED 1ULL
/* With the next one it is that of a block that was here and has been freed: the way is free. */
#define ABI_BOOK_FREED 2ULL
#define ABI_BOOK_WAYS 5
struct abi_book_bucket {
	__u64 elsewhere; /* the library's own: blocks that found no way here, their first bucket */
	__u64 address[ABI_BOOK_WAYS];
	struct abi_book_block block[ABI_BOOK_WAYS];
};
/*
 * There are so many after n doublings. While one is made, `doublings` has the number before it and
 * this bit: a block is at its old place, at its new one, in either half, or for a moment at both.
 */
#define ABI_BOOK_BUCKETS(n) (64ULL << (n))
#define ABI_BOOK_DOUBLINGS 20
#define ABI_BOOK_DOUBLES 0x80000000U

/*
 * A block that was freed while forked children still hold their copy of it: those that were forked
 * in an era above the block's, and not above that of its end. They are put in before the block is
 * taken out, and do not change; all go when era and ended_forks are the same.
 */
struct abi_book_tomb {
	__u64 address;
	struct abi_book_block block;
	__u32 freed_era;
	__u32 next; /* of the same head: one that is older; 0: none */
};
#define ABI_BOOK_TOMBS (1U << 22)
/* Numbers of tombs, from 1 on, by addresses. */
#define ABI_BOOK_TOMB_HEADS (1U << 16)
#define ABI_BOOK_TOMB_HEAD(address)                                                                \
	((__u32)(((address) >> 3) * 0x9e3779b97f4a7c15ULL >> 32) & (ABI_BOOK_TOMB_HEADS - 1))

/* A wrong use of the heap, as struct abi_heap_error, in the order in which they came first. */
struct abi_book_error {
	__u32 node; /* 0, while `kind` is: it is being written */
	__u16 function;
	__u16 kind; /* enum abi_heap_error_kind; 0: there is none */
	__u64 count;
	/* Of the first time. */
	__u64 time_ns;		     /* CLOCK_MONOTONIC */
	__u64 addr;		     /* that was passed */
	__u64 size;		     /* that was asked for */
	__u64 block;		     /* the one that addr is in, or was; 0: not known */
	struct abi_book_block about; /* it */
	__u32 freed_node;	     /* where it was freed before, */
	__u16 freed_function;	     /* and by what; 0: not known */
	__u16 pad;
	__u32 tid; /* by which thread */
	__u32 pad2;
};
#define ABI_BOOK_ERRORS 4096

/* Blocks of one site that one thread has freed at one place. */
struct abi_book_pair {
	__u32 node, free_node;
	__u16 function, free_function;
	__u32 thread; /* 0: it is being written */
	struct abi_free_pair counts;
	__u64 pad;
};
#define ABI_BOOK_PAIRS (1U << 20)

/*
 * One of the ABI_FREED_BLOCKS addresses that were freed last; the oldest gives its place away. The
 * numbers are the library's own, from 1 on.
 */
struct abi_book_freed {
	__u64 address;		     /* 0: there is none */
	struct abi_book_block block; /* which was this, */
	__u32 node;		     /* and was freed here, */
	__u16 function;		     /* by this */
	__u16 pad;
	__u32 next; /* of the same hash */
	__u32 older, newer;
	__u32 pad2;
};

/* Where what begins in the file. */
#define ABI_BOOK_AT_GONE 0x1000ULL
#define ABI_BOOK_AT_THREADS 0x10000ULL
#define ABI_BOOK_AT_NODES (ABI_BOOK_AT_THREADS + ABI_BOOK_THREADS * sizeof(struct abi_book_thread))
#define ABI_BOOK_AT_OBJECTS (ABI_BOOK_AT_NODES + ABI_BOOK_NODES * sizeof(struct abi_book_node))
#define ABI_BOOK_AT_SITES (ABI_BOOK_AT_OBJECTS + ABI_BOOK_OBJECTS * sizeof(__u64))
#define ABI_BOOK_AT_CUTS (ABI_BOOK_AT_SITES + ABI_BOOK_SITES * sizeof(struct abi_book_site))
#define ABI_BOOK_AT_HEADS (ABI_BOOK_AT_CUTS + ABI_BOOK_SITES * sizeof(struct abi_book_site_cut))
#define ABI_BOOK_AT_TOMBS (ABI_BOOK_AT_HEADS + ABI_BOOK_TOMB_HEADS * sizeof(__u32))
#define ABI_BOOK_AT_ERRORS (ABI_BOOK_AT_TOMBS + ABI_BOOK_TOMBS * sizeof(struct abi_book_tomb))
/* Where a huge page begins. */
#define ABI_BOOK_HUGE_PAGE (1ULL << 21)
#define ABI_BOOK_AT_PAIRS (ABI_BOOK_AT_ERRORS + ABI_BOOK_ERRORS * sizeof(struct abi_book_error))
#define ABI_BOOK_AT_FREED (ABI_BOOK_AT_PAIRS + ABI_BOOK_PAIRS * sizeof(struct abi_book_pair))
#define ABI_BOOK_AT_BLOCKS                                                                         \
	((ABI_BOOK_AT_FREED + ABI_FREED_BLOCKS * sizeof(struct abi_book_freed) +                   \
	  ABI_BOOK_HUGE_PAGE - 1) &                                                                \
	 ~(ABI_BOOK_HUGE_PAGE - 1))
#define ABI_BOOK_BYTES                                                                             \
	(ABI_BOOK_AT_BLOCKS + ABI_BOOK_BUCKETS(ABI_BOOK_DOUBLINGS) * sizeof(struct abi_book_bucket))
/*
 * Behind it, the process maps as much more of the file without any access. A book that is found
 * among mappings is known by that: servers map files that their clients hand them, but not so.
 */
#define ABI_BOOK_FENCE (1ULL << 16)
#define ABI_BOOK_MAPPED (ABI_BOOK_BYTES + ABI_BOOK_FENCE)

#ifndef __bpf__
static_assert(sizeof(struct abi_book_header) <= ABI_BOOK_AT_GONE, "abi_book_header");
static_assert(sizeof(struct abi_book_gone) == 24, "abi_book_gone");
static_assert(ABI_BOOK_AT_GONE + ABI_BOOK_GONE * sizeof(struct abi_book_gone) <=
		      ABI_BOOK_AT_THREADS,
	      "code that is gone");
static_assert(offsetof(struct abi_book_header, live_bytes) == 64, "a line of its own");
static_assert(sizeof(struct abi_book_thread) == 64, "abi_book_thread");
static_assert(sizeof(struct abi_book_node) == 16, "abi_book_node");
static_assert(sizeof(struct abi_book_site) == 96, "abi_book_site");
static_assert(sizeof(struct abi_book_site_cut) == 80, "abi_book_site_cut");
static_assert(ABI_BOOK_THREADS <= 1U << 16, "abi_book_site.thread");
static_assert(sizeof(struct abi_book_block) == 16, "abi_book_block");
static_assert(sizeof(struct abi_book_tomb) == 32, "abi_book_tomb");
static_assert(sizeof(struct abi_book_error) == 80, "abi_book_error");
static_assert(sizeof(struct abi_book_pair) == 320, "abi_book_pair");
static_assert(sizeof(struct abi_book_freed) == 48, "abi_book_freed");
static_assert(ABI_BOOK_REALLOCARRAY < 16, "ABI_BOOK_FN");
static_assert(sizeof(struct abi_book_bucket) == 128, "abi_book_bucket");
#endif

#endif
