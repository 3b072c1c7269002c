/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and the daemon share: cookies, blocks, sites, processes, losses, control.
 * What a part alone has stands in bpf/abi_*.h. Fixed-width types, explicit padding, sizes asserted.
 */
#ifndef MEMTRACED_BPF_ABI_H
#define MEMTRACED_BPF_ABI_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <assert.h>
#include <linux/types.h>
#include <stddef.h>
#endif

/* Most frames of a stack that are kept; a deeper stack is marked truncated. */
#define ABI_MAX_FRAMES 511
/* The same where the kernel walks: the default of kernel.perf_event_max_stack. */
#define ABI_KERNEL_FRAMES 127
/* Words that have a bit for each frame. */
#define ABI_EXACT_WORDS ((ABI_MAX_FRAMES + 64) / 64)

/*
 * Calls that stand for bpf_preempt_disable() and bpf_preempt_enable(): no helper has these numbers,
 * and the loader of the programs puts in where the kernel has them (trace/bpf/program_loader.h).
 */
#define ABI_CALL_HOLD_CPU 0x6d740001
#define ABI_CALL_RELEASE_CPU 0x6d740002

/*
 * The cookie of a probe:
 *   63        48 47      40 39        28 27                 0
 *   | fn         | kind     | args       | owner            |
 * fn: index into the daemon's table of probed functions; owner: 0 for a link that every process
 * shares, else the owner number of the one process whose own, filtered link this is (its slot + 1,
 * see ABI_MAX_SLOTS). The owner's highest bit is ABI_COOKIE_BY_SITES.
 */
#define ABI_COOKIE(fn, kind, args, owner)                                                          \
	((__u64)(fn) << 48 | (__u64)(kind) << 40 | (__u64)(args) << 28 | (__u32)(owner))
#define ABI_COOKIE_FN(c) ((__u16)((c) >> 48))
#define ABI_COOKIE_KIND(c) ((__u8)((c) >> 40))
#define ABI_COOKIE_ARGS(c) ((__u16)((c) >> 28 & 0xfff))
#define ABI_COOKIE_OWNER(c) ((__u32)(c)&0x7ffffff)
/* Of an entry: the function's exit sites are probed, not its return. */
#define ABI_COOKIE_BY_SITES (1ULL << 27)

/* Of on_exit_mmap, at the tracepoint of signals. */
#define ABI_COOKIE_SIGNAL 1

/* Ids of functions have 16 bits. */
#define ABI_FUNCTIONS (1 << 16)

/* What a probed function does with memory. */
enum abi_kind {
	ABI_ALLOC = 1,	   /* returns the block or NULL; args says where its size is */
	ABI_FREE = 2,	   /* an argument is the block or NULL */
	ABI_REALLOC = 3,   /* an argument is the old block, args says where the new size is */
	ABI_OUT_PARAM = 4, /* posix_memalign: block through an argument, 0 is success */
	/* xallocx: resized in place or not at all, returns the block's real size */
	ABI_RESIZE = 5,
	ABI_STRING = 6, /* returns a copied string or NULL: its length and the 0 are the size */
	ABI_SCOPED_FREE = 7, /* a pool's: what it calls is nested, frees of other blocks too */
	ABI_SCOPE = 8,	     /* what it calls is nested, and nothing is counted */
	/* USDT probes that show samples: args is the number of their abi_sample_spec */
	ABI_SAMPLE_ALLOC = 9,
	ABI_SAMPLE_FREE = 10,
	ABI_KIND_MASK = 0x0f,
	/* Can be left by an exception, which is not seen: operator new. */
	ABI_THROWS = 0x10,
	/* A realloc that fails has freed the old block all the same (reallocf). */
	ABI_FAILURE_FREES = 0x20,
	/* realloc(p, 0) frees p and returns NULL (glibc); without it, it is a failed realloc or a
	 * block of size 0, told apart by what it returns. */
	ABI_REALLOC0_FREES = 0x40,
	/* Set on probes that stand at an exit of the function (on its `ret`): the return address
	 * is still where it was at entry. */
	ABI_AT_EXIT = 0x80,
};

/* Where the size of a new block is, in ABI_COOKIE_ARGS: argument numbers from 1 to 5. */
#define ABI_SIZE_ARG(n) (n)
/* The product of two arguments (calloc, reallocarray); of ABI_RESIZE, their sum. */
#define ABI_SIZE_PRODUCT(n, m) ((n) | (m) << 4)
#define ABI_SIZE_SUM(n, m) ((n) | (m) << 4)
/* Where the block is, or where its address is to be put; the first argument unless given. */
#define ABI_BLOCK_ARG(n) ((n) << 8)
/* Of a free, which has no size: how many words sp is below its place at the entry. */
#define ABI_FRAME_WORDS(args) ((args)&0xff)

/*
 * Key of a live block, on x86-64:
 *   63        44 43                 0
 *   | slot      | address >> 3      |
 * Addresses have 47 bits there and 48 on arm64 unless a program asks for more (by an mmap hint);
 * such blocks are counted as ABI_LOST_ADDRESS. Allocators align blocks to 8 bytes or more.
 */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define ABI_ADDR_BITS 48
#else
#define ABI_ADDR_BITS 47
#endif
#define ABI_ADDR_LIMIT (1ULL << ABI_ADDR_BITS)
#define ABI_SLOT_SHIFT (ABI_ADDR_BITS - 3)
#define ABI_MAX_SLOTS (1 << (64 - ABI_SLOT_SHIFT))
#define ABI_BLOCK_KEY(slot, addr)                                                                  \
	((__u64)(slot) << ABI_SLOT_SHIFT | ((__u64)(addr) & (ABI_ADDR_LIMIT - 1)) >> 3)
#define ABI_BLOCK_SLOT(key) ((__u32)((key) >> ABI_SLOT_SHIFT))
#define ABI_BLOCK_ADDR(key) (((key) << 3) & (ABI_ADDR_LIMIT - 1))

struct abi_block {
	__u64 stack;   /* content hash, key of the stack table */
	__u64 size_fn; /* size << 18 | enum abi_form << 16 | fn; sizes have 46 bits */
	__u32 tick;    /* coarse time of the allocation: abi_control.tick */
	__u32 era;     /* forks of the process before it: see abi_proc.era */
};
/*
 * Live blocks are kept in buckets (bpf/block_table.bpf.h); a full one spills into the map `blocks`.
 * A key is 0 in a free way, ABI_BLOCK_BUSY in one that changes hands: no slot is that large.
 */
#define ABI_BLOCK_WAYS 7
#define ABI_BLOCK_BUSY (~0ULL)
#define ABI_BLOCK_FREED 3
struct abi_block_bucket {
	__u64 key[ABI_BLOCK_WAYS];
	__u32 spilled; /* at least as many blocks of this bucket are in the map */
	/* The newest frees: their keys, and the ways in which the blocks may still be. */
	__u8 freed_way[ABI_BLOCK_FREED];
	__u8 freed_next;
	struct abi_block block[ABI_BLOCK_WAYS];
	__u64 freed[ABI_BLOCK_FREED];
};

/* Buckets that have ever been used: a bit each. */
#define ABI_BUCKETS_A_MARK 64

/* The high half of a product is the well mixed one (Knuth: multiplicative hashing). */
static inline __u32 abi_block_bucket_index(__u64 key, __u32 buckets)
{
	return ((key * 0x9e3779b97f4a7c15ULL) >> 32) * buckets >> 32;
}

#define ABI_SIZE_BITS 46
#define ABI_SIZE_FN(size, form, fn) ((__u64)(size) << 18 | (form) << 16 | (__u16)(fn))
#define ABI_BLOCK_SIZE(b) ((b)->size_fn >> 18)
#define ABI_BLOCK_FORM(b) ((b)->size_fn >> 16 & ABI_FORM_MASK)
#define ABI_BLOCK_FN(b) ((__u16)(b)->size_fn)

/* By which of C++'s forms the program made a block: bpf/form.bpf.h. */
enum abi_form {
	ABI_FORM_OWN, /* of the function itself: see ABI_FORMS */
	ABI_FORM_NEW,
	ABI_FORM_ARRAY,	  /* new[] */
	ABI_FORM_UNKNOWN, /* any */
	ABI_FORM_MASK = 3,
};
/*
 * What is known of a function by its id: a number of its allocator, 0 for none, and the forms that
 * it has names of, ABI_FORM_C or 1 << enum abi_form; 0: nothing is known. Functions that do the
 * same can be one: tcmalloc's free is its operator delete.
 */
#define ABI_FORM_C 1
#define ABI_TRAITS(family, forms) ((family) | (forms) << 4)
#define ABI_FAMILY(traits) ((traits)&0x7)
/*
 * Beside the family: each function by which its allocator hands out blocks is probed, so that a
 * pointer which is no block's is wrong.
 */
#define ABI_COMPLETE 0x8
#define ABI_FORMS(traits) ((traits) >> 4)
/* Arguments of a mark's cookie: its form, and whether it is a delete. */
#define ABI_MARK_ARGS(form, deletes) ((form) | (deletes) << 8)
#define ABI_MARK_DELETES(cookie) (ABI_COOKIE_ARGS(cookie) >> 8 & 1)

struct abi_site_key {
	__u64 stack;
	__u32 slot;
	__u16 fn;
	__u16 stripe; /* of the CPU that counted: sums over stripes are the site's values */
};

struct abi_site_counts {
	__s64 live_bytes; /* signed: a stripe may have freed what another allocated */
	__s64 live_blocks;
	__u64 allocs;
	__u64 bytes;
	union {
		__u64 temporary;
		__u64 allocs_variance; /* of samples (bpf/abi_sample.h): of allocs */
	};
	/* In the unit of live_blocks. Here, as all others are derived from sums at one cut. */
	__u64 missed_frees;
	union {
		/* How long blocks lived: the clock (ABI_CLOCK_SHIFT) at their ends less that at
		 * their births, of live ones less that alone. Wraps. */
		__u64 lifetimes;
		__u64 bytes_variance; /* of samples: of bytes (ABI_SAMPLE_BYTES_SHIFT) */
	};
	union {
		__s64 peak_blocks; /* live_blocks at the peak, as abi_site.peak_bytes */
		__u64 samples;	   /* how many there were */
	};
	__u64 most_beyond; /* of samples: abi_sample_blocks_beyond(), the largest */
};

/* Counts now, at the process's last peak, and at the last cut: DESIGN.md section 10. */
struct abi_site {
	struct abi_site_counts now;
	__s64 peak_bytes;     /* live_bytes at the peak, valid if peak_epoch is the process's */
	__s64 cut_peak_bytes; /* live_bytes at the peak that was current at the cut */
	__u32 peak_epoch;
	__u32 cut_epoch;
	struct abi_site_counts cut;
};

/* Epochs of cuts are even; of a site or process that a program changes just now, odd. */
#define ABI_CUT_STEP 2
#define ABI_CUT_BUSY 1U

/* Sites are kept in a table, too: found at their hash or in one of the next few entries. */
#define ABI_SITE_ENTRIES (1U << 14)
enum abi_site_state { ABI_SITE_FREE, ABI_SITE_BUSY, ABI_SITE_USED };
struct abi_site_entry {
	__u32 state; /* enum abi_site_state */
	__u32 pad;
	struct abi_site_key key;
	struct abi_site site; /* its first two cache lines hold all but what was at the cut */
};

/* A process image (between execs) or several that share one address space. Array by slot. */
struct abi_proc {
	__s64 live_bytes;
	__s64 peak_bytes;
	__s64 cut_peak_bytes;
	union {
		__u64 failed;
		__u64 sample_interval; /* ABI_SAMPLE_INTERVAL; 0: no sample was seen */
	};
	__u64 least_sample; /* ABI_SAMPLE_LEAST: what its interval is told by */
	union {
		__u64 unknown_frees;
		__u64 stacks_full; /* of --mappings: regions have no stacks any more */
	};
	union {
		__u64 inherited_frees;
		__s64 live_samples; /* of its own, less those that it inherited and freed */
	};
	__u64 lost;	  /* events of this process that were lost: it is exact only while 0 */
	__u64 race_bytes; /* bound on what concurrent peaks can have put on the wrong side */
	__u32 pid;	  /* thread group that made it */
	__u32 owner;	  /* ABI_COOKIE_OWNER that counts for it */
	__u32 state;	  /* enum abi_proc_state */
	__u32 peak_epoch;
	__u32 cut_epoch;
	__u32 cut_peak_epoch;
	__u32 era;	  /* forks so far; a block born at era e is in children forked at > e */
	__u32 parent;	  /* slot it was forked from, ABI_NO_SLOT if none */
	__u32 parent_era; /* the parent's era after that fork */
	__u32 sharers;	  /* forked children, living or not yet read, that look up blocks here */
	__u32 code_epoch; /* another one when executable mappings go: seeds stack hashes */
	__u32 image;	  /* a number that no other image in the run has, as slots may */
	union {
		__u64 last_file_map; /* start of the newest file mapping not at a fixed address */
		struct {	     /* code_watch.bpf.h */
			__u32 code_epochs; /* so many were begun: ABI_WATCHED_EPOCH */
			__u32 code_pages;  /* executable ones, when it was last seen */
		};
	};
};

/* Of a mapped object's start. Gone: the process's forked children may still have it. */
enum abi_code_start { ABI_CODE_START_GONE, ABI_CODE_START_MAPPED };

/* An epoch of code that is told of by its pages: no number is used twice. */
#define ABI_WATCHED_EPOCH(number) (1U << 31 | (number))

/*
 * What is taken of maps that all processes share, by one and by all together: none takes more
 * than a few times what is still free (bpf/room.bpf.h). Blocks are those in the map.
 */
struct abi_room {
	__s32 stacks;
	__s32 sites;
	__s32 spilled;
	__s32 pad;
};
#define ABI_ROOM_TIMES 3
#define ABI_ROOM_TIMES_AT_LAST 7

/* The id of all stacks of a process for which there was no room. */
#define ABI_STACK_OTHER (~0ULL)
/* The id where there is no user code that could have a stack. */
#define ABI_STACK_NO_CODE (~1ULL)
/* Of a hash: no stack's id is one of these, or 0 (not wanted, or lost). */
#define ABI_STACK_ID(hash) ((hash) + 2 > 2 ? (hash) : 1)

/* A block that a process freed while children forked before that still hold their copy of it. */
struct abi_tomb_key {
	__u64 block;
	__u32 n; /* 0: only its count matters; 1 to count: the tombs of that address */
	__u32 pad;
};

struct abi_tomb {
	struct abi_block block;
	__u32 freed_era; /* the process's era when it was freed: children up to it share it */
	__u32 count;
};

/* Key of the set of files whose allocators are known, and of executable mappings. */
struct abi_file_key {
	__u64 ino;
	__u32 dev; /* the kernel's dev_t, major << 20 | minor */
	__u32 pad;
};
/* A return address of an inner free (user/probe/inner_frees.h), from the probe of free `fn`. */
struct abi_inner_free {
	__s32 distance;
	__u32 fn;
};

enum abi_file_verdict {
	ABI_FILE_ALLOCATOR,
	ABI_FILE_NO_ALLOCATOR,
	ABI_FILE_SHARED_LINK,
	ABI_FILE_ALONE, /* no allocator is in it, and it has none loaded: a static program */
};

/* What is known of an executable file. */
struct abi_file {
	__u32 verdict; /* enum abi_file_verdict */
	__u32 object;  /* abi_unwind.h; 0: it has no rows */
};

enum abi_proc_state {
	ABI_PROC_FREE,
	ABI_PROC_PENDING,
	ABI_PROC_ACTIVE,
	ABI_PROC_ENDED,
	ABI_PROC_UNWANTED, /* --comm, --uid: not counted, but what it starts may be */
};
#define ABI_NO_SLOT 0xffffffffU

/* Why something was lost; names in user/trace/live/cuts/live_cut.c. */
enum abi_loss {
	ABI_LOST_BLOCK_MAP_FULL,
	ABI_LOST_SITE_MAP_FULL,
	ABI_LOST_STACK_MAP_FULL,
	ABI_LOST_RING_FULL,
	ABI_LOST_INFLIGHT, /* no slot for a thread, or an exit without its entry */
	ABI_LOST_STACK_UNREADABLE,
	ABI_LOST_SCRATCH_BUSY,
	ABI_LOST_ADDRESS,
	ABI_LOST_PROCESS,	   /* no slot for a new process */
	ABI_LOST_TOMBSTONE,	   /* record of a block freed while forked children share it */
	ABI_LOST_OUT_PARAM,	   /* a block, or the string in it, could not be read */
	ABI_LOST_FILE,		   /* which file was mapped as code: it may hold an allocator */
	ABI_LOST_HISTOGRAM,	   /* no room for a new group or bucket of a histogram */
	ABI_LOST_EVENT,		   /* no room for a new stack of an event */
	ABI_LOST_SYSCALL_INFLIGHT, /* no room for a thread: its calls are not counted */
	ABI_LOST_SYSCALL_MAP_FULL, /* calls, errors, callers of a system call */
	ABI_LOST_FILE_MAP_FULL,	   /* what was done with a file */
	ABI_LOST_FILE_NAME,	   /* its path */
	ABI_LOST_FREE_PAIR,	   /* no room for where blocks of a site are freed */
	ABI_LOST_BIRTH,		   /* no room for when a block was allocated, and by which thread */
	ABI_LOST_NESTING,	   /* a call taken for a part of another, which has not returned */
	ABI_LOST_ARGUMENT,	   /* of a USDT probe, which is in memory that cannot be read */
	ABI_LOST_SAMPLE_ROOM,	   /* one process has more live samples than it has room for */
	ABI_LOST_REGION_STACK,	   /* one process has mapped by more stacks than are kept of it */
	ABI_LOST_STACK_ROOM,	   /* stacks: ABI_STACK_OTHER stands for them */
	ABI_LOST_BLOCK_ROOM,	   /* blocks */
	ABI_LOST_UNKNOWN_ALLOCATION, /* of a block that is freed: no probe has seen it */
	ABI_LOST_OUTLIVED,	     /* a call in the memory of a process that has ended */
	ABI_LOST_CODE_START, /* no room for where code is mapped: it may be taken for older */
	ABI_LOSSES,
	/* in the same map: events seen, for the status line, */
	ABI_EVENTS = ABI_LOSSES,
	/* and allocations that samples have stood for, in parts (ABI_SAMPLE_BLOCK_SHIFT) */
	ABI_SAMPLED_ALLOCS,
	ABI_COUNTERS
};

/* Whose system calls and tracepoints a job counts. */
enum abi_scope {
	ABI_SCOPE_PROCESSES, /* those in the map of pids */
	ABI_SCOPE_CGROUP,    /* and its descendants, cgroup v2 */
	ABI_SCOPE_HOST,	     /* all but the daemon */
};

/* Which blocks are tracked, of both bounds included: --min-size, --max-size. */
struct abi_block_filter {
	__u64 min_size, max_size;
};

static inline int abi_block_is_tracked(const volatile struct abi_block_filter *filter, __u64 size)
{
	return size >= filter->min_size && size <= filter->max_size;
}

/* Are all blocks? */
static inline int abi_block_filter_is_open(const volatile struct abi_block_filter *filter)
{
	return filter->min_size == 0 && filter->max_size == ~0ULL;
}

/* A user who may look at own processes alone, as ptrace(2) has it: bpf/access.bpf.h. */
struct abi_access {
	__u32 limited; /* 0: the user that asks may see all */
	__u32 uid, gid;
};

/*
 * Patterns of process names as one automaton (user/config/name_globs.h): bit i of a state says that
 * the elements of a pattern before element i have been matched. No look-up and no branch depends on
 * the patterns, so that every verifier can follow it.
 */
struct abi_names {
	__u64 first;	     /* the state before the first character */
	__u64 last;	     /* bits that mean: matched whole */
	__u64 stays;	     /* bits before whose element there is a '*' */
	__u64 matching[256]; /* by character: elements that it matches */
};

static inline __u64 abi_names_next(const volatile struct abi_names *names, __u64 state, __u8 c)
{
	return (state & names->matching[c]) << 1 | (state & names->stays);
}

/* What the daemon tells the programs at run time; mapped into the daemon. */
struct abi_control {
	__u32 tick;	   /* coarse time, ABI_TICK_NS each, from the start of the session */
	__u32 cut_epoch;   /* bumped to take a consistent cut */
	__u32 hold;	   /* stop threads that map unknown executable files */
	__u32 shared;	   /* links without a process filter are in: new processes count at once */
	__u32 ends;	   /* written by the programs: images of traced processes that are over */
	__u32 copies;	   /* as are these: copies of stacks sent (--check-stacks), */
	__u32 copies_lost; /* and those for which there was no room */
	/* trace/kernel/preemption.h: the thread that asks, and the answer */
	__u32 preemption_tid;
	__u32 preemption; /* enum abi_preemption */
	__u32 keeper;  /* the thread group that forks what parses files for the daemon; 0: none */
	__u32 opener;  /* as is this of what opens them */
	__u32 samples; /* new images have samples: ABI_SAMPLE_IMAGE */
	__u32 watch_code; /* no tracepoint tells of mappings: code_watch.bpf.h */
	__u32 doublings;  /* of the interval of samples that come, at least: sample_fits() */
	__u32 calls;	  /* on_exit stands for on_exit_plain from now on */
	__u32 stack_room; /* entries of `stacks`, which may be made anew: room.bpf.h */
};

/* May a program be preempted where it was called? */
enum abi_preemption {
	ABI_PREEMPTION_UNKNOWN,
	ABI_PREEMPTION_NO,
	ABI_PREEMPTION_YES,
};

/*
 * Of abi_result.h. While `fn` is not 0, that function's calls are counted by their entry and
 * return, and what the sites see is compared. Calls are compared that begin when `is_armed`.
 */
struct abi_result_check {
	__u32 fn;
	__u32 is_armed;
	__u32 sited; /* all sites of this function are probed, beside entry and return */
	__u32 pad;
	__u64 same, different;
	__u64 whole;   /* calls that one site has seen */
	__u64 missed;  /* times that a site in shared code was passed by another call */
	__u64 pending; /* calls that have passed their site and have not returned */
};

#define ABI_TICK_NS 10000000ULL
/*
 * The clock of lifetimes is abi_control.tick, or with knob_lifetimes CLOCK_MONOTONIC in units of so
 * many bits of nanoseconds.
 */
#define ABI_CLOCK_SHIFT 10
/* The daemon looks into the ring so often at least, for what did not wake it: bpf/ring.bpf.h. */
#define ABI_RING_LOOK_NS 100000000ULL

/* Probes with programs of their own (bpf/old_kernel.bpf.h): threads at a time, programs called. */
#define ABI_STUB_THREADS 65536
#define ABI_STUB_PROGRAMS 32

#ifndef __bpf__
static_assert(ABI_MAX_SLOTS < ABI_COOKIE_BY_SITES, "slot + 1 is an owner");
static_assert(sizeof(struct abi_block) == 24, "abi_block");
static_assert(sizeof(struct abi_site_key) == 16, "abi_site_key");
static_assert(sizeof(struct abi_site) == 168, "abi_site");
static_assert(sizeof(struct abi_block_bucket) == 256, "abi_block_bucket: whole cache lines");
static_assert(offsetof(struct abi_block_bucket, block) == 64, "keys in one cache line");
static_assert(sizeof(struct abi_site_entry) == 192, "abi_site_entry: whole cache lines");
static_assert(sizeof(struct abi_proc) == 128, "abi_proc");
static_assert(sizeof(struct abi_room) == 16, "abi_room");
#endif

#endif
