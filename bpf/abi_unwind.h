/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables by which BPF programs unwind user stacks (bpf/unwind.bpf.h): call frame information,
 * compiled by user/elf/cfi/cfi.h and put into maps by user/trace/unwind/unwind_tables.h. x86-64.
 *
 *   return address -> mapping of the process -> row of the object -> rule
 *
 * An object's addresses are relative to its lowest PT_LOAD's page, 32 bits: `rel`.
 */
#ifndef MEMTRACED_BPF_ABI_UNWIND_H
#define MEMTRACED_BPF_ABI_UNWIND_H

#include "abi.h"

/* How to find the canonical frame address (CFA) of the caller's frame. */
enum abi_unwind_kind {
	ABI_UNWIND_NONE, /* no information: the frame pointer is followed */
	ABI_UNWIND_SP,	 /* rsp + offset */
	ABI_UNWIND_BP,	 /* rbp + offset */
	/* *(rbp + at) + then, by ABI_UNWIND_DEREF(at, then): frames that GCC realigns. */
	ABI_UNWIND_BP_DEREF,
	ABI_UNWIND_SP_DEREF, /* the same of rsp: a stack that hand-written code has realigned */
	/* A signal handler returns here: the interrupted registers are in a struct sigcontext at
	 * rsp + offset (arch/x86/include/uapi/asm/sigcontext.h). */
	ABI_UNWIND_SIGNAL,
	/* A PLT entry: rsp + offset, and 8 more from byte bp_offset of its 16 on. */
	ABI_UNWIND_PLT,
	/* Behind a system call that has made a thread or process: in the new one the stack begins
	 * here, else rsp + offset. Of the innermost frame only, like the next. */
	ABI_UNWIND_CLONED,
	ABI_UNWIND_RA_IN_RDI, /* rsp + offset, and rdi has the return address: vfork() */
	ABI_UNWIND_RBX,	      /* rbx + offset: ld.so's _dl_runtime_resolve() */
	/* On another stack, the goroutine's: ABI_UNWIND_DEREF(where it is, where its depth is). */
	ABI_UNWIND_GO_DEPTH,
	ABI_UNWIND_GO_CURRENT,	/* the same of the thread's: ABI_UNWIND_GO(), TLS in bp_offset */
	ABI_UNWIND_GO_RESUMED,	/* that is gone on with where it has been interrupted, if any is */
	ABI_UNWIND_END,		/* the stack begins here */
	ABI_UNWIND_UNSUPPORTED, /* information that these rules cannot say */
};

/* Where the caller's rbp is. The return address is at CFA - 8 always. */
enum abi_unwind_bp {
	ABI_UNWIND_BP_SAME,
	ABI_UNWIND_BP_AT_CFA, /* *(CFA + bp_offset) */
	ABI_UNWIND_BP_AT_BP,  /* *(rbp + bp_offset) */
};

struct abi_unwind_rule {
	__s32 offset;
	__u8 kind;    /* enum abi_unwind_kind */
	__u8 bp : 2;  /* enum abi_unwind_bp */
	__u8 rbx : 6; /* the caller's is at CFA - 8 * rbx, or one of the next */
	__s16 bp_offset;
};

/* The offset of a rule whose CFA is in memory: two of 16 bits. */
#define ABI_UNWIND_DEREF(at, then) ((__s32)((__u32)(then) << 16 | (__u16)(at)))
#define ABI_UNWIND_DEREF_AT(offset) ((__s16)(offset))
#define ABI_UNWIND_DEREF_THEN(offset) ((offset) >> 16)

/* Where a thread's goroutine has its struct m, that its goroutine, and that its stack pointer. */
#define ABI_UNWIND_GO(m, curg, sp) ((__s32)((m) | (curg) << 8 | (sp) << 16))
#define ABI_UNWIND_GO_M(offset) ((offset)&0xff)
#define ABI_UNWIND_GO_CURG(offset) ((offset) >> 8 & 0xff)
#define ABI_UNWIND_GO_SP(offset) ((offset) >> 16 & 0xff)

#define ABI_UNWIND_RBX_UNKNOWN 0 /* of all rules of an object where no CFA is by rbx */
#define ABI_UNWIND_RBX_SAME 1	 /* there is the return address */
#define ABI_UNWIND_RBX_MOST 63

/* All objects' rules are numbered together; number 0 is ABI_UNWIND_NONE. */
#define ABI_UNWIND_RULES 32768

/* Holds from `pc` up to the next row's. An object's rows are sorted. */
struct abi_unwind_row {
	__u32 pc; /* rel */
	__u16 rule;
	__u16 pad;
};

/* A chunk has this many, or those of a file that has more. */
#define ABI_UNWIND_CHUNK_ROWS (1U << 20)
#define ABI_UNWIND_CHUNK_SHIFT 24
#define ABI_UNWIND_CHUNK_ROW(row) ((row) & ((1U << ABI_UNWIND_CHUNK_SHIFT) - 1))
#define ABI_UNWIND_CHUNKS 256

/* Rows of an object's executable segments; it has no more than this many of them. */
#define ABI_UNWIND_SEGMENTS 4
struct abi_unwind_segment {
	__u64 offset, end; /* in the file */
	__u32 rel;	   /* of `offset` */
	__u32 pad;
};
struct abi_unwind_object {
	__u32 first_row; /* chunk << ABI_UNWIND_CHUNK_SHIFT | row */
	__u32 rows;
	__u32 flags; /* ABI_UNWIND_PRUNED */
	__u32 segments;
	struct abi_unwind_segment segment[ABI_UNWIND_SEGMENTS];
};
/* Rows are right for return addresses and behind system calls only, not for any instruction. */
#define ABI_UNWIND_PRUNED 1
/* An object that has been published is not changed; a better one gets another index. */
#define ABI_UNWIND_OBJECTS 16384

/* Longer mappings of code are not put into the tables. */
#define ABI_UNWIND_MAX_LEN 0xfffff000ULL

struct abi_unwind_mapping {
	__u64 start;
	__u32 len;
	__u32 rel;    /* of `start` */
	__u32 object; /* index, from 1 on; 0, among the recent ones: no code is there any more */
	__u32 number; /* of a recent one, from 1 on; 0: it is being written */
};

/*
 * Code of a process, by slot: mappings that the daemon has sorted, and what the programs have seen
 * made and unmapped since, in a ring. The newest of these that holds an address decides, then the
 * sorted ones. A forked child begins with a copy.
 */
#define ABI_UNWIND_RECENT 32
#define ABI_UNWIND_LOST 4
struct abi_unwind_space {
	__u32 appended; /* number of the newest */
	__u32 slot; /* an element can be used again at once: whose it is, to be looked at last */
	/*
	 * Where all was that was overwritten in the ring before it was merged and no newer one
	 * decides for, and the number of the last. What the sorted ones say of addresses in there
	 * may be out of date. The last range is around all for which there was no other.
	 */
	struct {
		__u64 start, end;
	} lost_ranges[ABI_UNWIND_LOST];
	__u32 lost;
	__u32 n_lost;					     /* ranges */
	struct abi_unwind_mapping recent[ABI_UNWIND_RECENT]; /* a number's place: modulo */
};
/*
 * The sorted ones in a word, so that it is changed at once: from `first` on n of unwind_mappings,
 * which hold the recent ones up to the number `merged`. Written by the daemon alone.
 *   63      40 39     20 19     0
 *   | merged  | n       | first  |
 */
#define ABI_UNWIND_SORTED(first, n, merged) ((__u64)(merged) << 40 | (__u64)(n) << 20 | (first))
#define ABI_UNWIND_FIRST(sorted) ((__u32)(sorted)&0xfffff)
#define ABI_UNWIND_N(sorted) ((__u32)((sorted) >> 20) & 0xfffff)
/* How many of the recent ones are news: more than there is room for, if some are lost. */
#define ABI_UNWIND_NEWS(sorted, appended) (((appended) - (__u32)((sorted) >> 40)) & 0xffffff)

/* Why a stack was cut off. */
enum abi_stack_cut {
	ABI_CUT_NONE,
	ABI_CUT_LIMIT,	     /* --max-stack, or ABI_MAX_FRAMES */
	ABI_CUT_NO_MAPPING,  /* code that is in no table (yet), and no frame pointer either */
	ABI_CUT_NO_CFI,	     /* an object without information there, and no frame pointer */
	ABI_CUT_UNSUPPORTED, /* information that rules cannot say */
	ABI_CUT_UNREADABLE,  /* stack memory */
	ABI_CUT_NOT_RISING,  /* a frame that does not lie above the one before */
	ABI_CUT_PRUNED,	     /* interrupted code whose rows are for return addresses only */
	ABI_CUTS
};

/* Where a walk is (unwind_steps.h): the frame that is next. */
struct unwind_place {
	__u64 pc, sp, bp;
	__u64 exact; /* pc is the next instruction, no return address */
};

#ifndef __bpf__
static_assert(sizeof(struct abi_unwind_rule) == 8, "abi_unwind_rule");
static_assert(sizeof(struct abi_unwind_row) == 8, "abi_unwind_row");
static_assert(sizeof(struct abi_unwind_mapping) == 24, "abi_unwind_mapping");
static_assert(sizeof(struct abi_unwind_object) == 112, "abi_unwind_object");
static_assert(sizeof(struct abi_unwind_space) == 848, "abi_unwind_space");
#endif

#endif
