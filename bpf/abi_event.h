/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of the ring: each begins with struct abi_event, which says what it is. Those of deaths,
 * copies of stacks and file names have headers of their own.
 */
#ifndef MEMTRACED_BPF_ABI_EVENT_H
#define MEMTRACED_BPF_ABI_EVENT_H

#include "abi.h"

/* Ring records: all begin with this head. */
struct abi_event {
	__u32 type; /* enum abi_event_type */
	__u32 slot;
	__u64 time_ns; /* CLOCK_MONOTONIC */
};

enum abi_event_type {
	ABI_EV_STACK = 1,
	ABI_EV_FORK,
	ABI_EV_EXEC,
	ABI_EV_EXIT,
	ABI_EV_DEATH,	     /* bpf/abi_death.h: a process is killed, and by whom */
	ABI_EV_MMAP,	     /* success only, at return: anonymous, or a file at a fixed address */
	ABI_EV_MUNMAP,	     /* at entry */
	ABI_EV_MREMAP,	     /* at entry, of the old range */
	ABI_EV_UNMAP_RESULT, /* at return of a munmap or mremap; addr, len: mremap's new range */
	ABI_EV_CODE,	     /* an executable file mapping appeared */
	ABI_EV_SEEN,	     /* a process of the host or cgroup that is traced did something */
	ABI_EV_OCCURRENCE,   /* one event with its own time */
	ABI_EV_FILE,	     /* bpf/abi_syscalls.h: a file that was not seen before */
	ABI_EV_CODE_GONE,    /* at the entry of an munmap, of executable file mappings */
	ABI_EV_STACK_COPY,   /* bpf/abi_stack_copy.h: what a stack was walked in */
	ABI_EV_CHECKPOINT,   /* a thread is stopped before a function */
	ABI_EV_FAULT,	     /* a process is about to be killed for what it did itself */
	ABI_EV_CODE_CHANGED, /* a process has another number of executable pages than before */
	ABI_EV_BRK,	     /* at return; addr, len: what was added, or (result < 0) given back */
	ABI_EV_FAULT_TICKS, /* page faults of a CPU have ticked often: its period is to be judged */
	ABI_EV_BOOK,	    /* a process begins a book of its own, bpf/abi_book.h */
	ABI_EV_FIRST_ENDED, /* the first thread of a process has ended, others go on */
};

struct abi_ev_stack {
	struct abi_event head;
	__u64 hash;
	__u32 frames;
	__u32 flags; /* ABI_STACK_*; from bit ABI_STACK_CUT_SHIFT on enum abi_stack_cut */
	/* bit i: frame[i] is the next instruction, no return address */
	__u64 exact[ABI_EXACT_WORDS];
	__u64 frame[ABI_MAX_FRAMES];
};
#define ABI_STACK_TRUNCATED 1
/* frame[0] is the ip of the system call, frame[1] the word at [sp] or in the link register: the
 * return address when the call was made by a wrapper without a frame, as libc's are. */
#define ABI_STACK_SYSCALL 2
/* As ABI_STACK_SYSCALL, but frame[0] belongs to the stack: nothing else stands for the call. */
#define ABI_STACK_SYSCALL_IP 4
/* frame[0] is where the thread was interrupted, no return address. */
#define ABI_STACK_INTERRUPTED 8
/* Kernel addresses; the slot is ABI_NO_SLOT. */
#define ABI_STACK_KERNEL 16
/* Unwound by call frame information: whole unless cut (bpf/abi_unwind.h). */
#define ABI_STACK_CFI 32
/* Of these: somewhere there was none, and the frame pointer was followed. */
#define ABI_STACK_FRAME_POINTERS 64
#define ABI_STACK_CUT_SHIFT 8
#define ABI_STACK_CUT(flags) ((flags) >> ABI_STACK_CUT_SHIFT & 0xff)

struct abi_ev_occurrence {
	struct abi_event head;
	__u32 id; /* of the event, as the daemon numbers them */
	__u32 tid;
	__u32 cpu;
	__u32 weight; /* of page faults: how many it stands for, or more than fit */
	__u64 stack;
	__u64 kernel_stack;
	char comm[16];
};

struct abi_ev_process { /* FORK, EXEC, EXIT, SEEN */
	struct abi_event head;
	__u32 pid;
	__u32 tid;
	__u32 old_slot;	 /* FORK: the parent's; EXEC: the old image's */
	__u32 exit_code; /* EXIT: as wait(2)'s status */
	__u32 flags;	 /* ABI_PROCESS_* */
	/* most that was resident so far, of the pid's earlier images, too */
	__u32 peak_pages;
	char comm[16];
};
#define ABI_PROCESS_SHARES_MM 1	 /* FORK of a CLONE_VM child: the slot is the parent's */
#define ABI_PROCESS_LAST 2	 /* EXIT: no other process shares the address space */
#define ABI_PROCESS_KNOWN_FILE 4 /* EXEC: shared links are in the executable, if any need be */
#define ABI_PROCESS_UNWANTED 8	 /* EXEC: of an image that is only followed */
#define ABI_PROCESS_ALONE 16	 /* EXEC: of an executable that is ABI_FILE_ALONE */
#define ABI_PROCESS_HIDDEN 32	 /* EXIT: it goes on, but may not be looked at: access.bpf.h */
#define ABI_PROCESS_OWN_PEAK 64	 /* EXIT: peak_pages is of this image alone */
/* EXEC: from here on, how many mappings the programs have put into its abi_unwind_space. */
#define ABI_PROCESS_NOTED_SHIFT 8

struct abi_ev_map { /* MMAP, MUNMAP, MREMAP, UNMAP_RESULT, CODE, CODE_GONE, BRK */
	struct abi_event head;
	__u32 tid;
	__u32 prot;
	__u32 flags; /* mmap(2)'s or mremap(2)'s flags */
	__u32 held;  /* CODE: the thread was stopped and waits for PTRACE_CONT */
	__u64 addr;
	__u64 len;
	__u64 offset; /* CODE: of the file */
	__u64 ino;    /* CODE */
	__u64 stack;
	__s64 result; /* UNMAP_RESULT: what the call returned; BRK: 1 or -1 */
	__u32 dev;    /* CODE: kernel's dev_t, major << 20 | minor */
	union {
		__u32 in_allocator; /* MMAP made inside a probed allocator function */
		__u32 noted;	    /* CODE, CODE_GONE: its number in abi_unwind_space, 0: none */
	};
};

struct abi_ev_code_changed {
	struct abi_event head;
	__u32 tid;
	__u32 held; /* as in struct abi_ev_map */
	__u32 by_loader;
	__u32 pages, before; /* executable ones; 0 before: it was not looked at before */
	__u32 pad;
};

struct abi_ev_checkpoint {
	struct abi_event head;
	__u32 tid;
	__u32 function; /* of the link's cookie: which one, probe/object_facts.h */
};

struct abi_ev_book {
	struct abi_event head;
	__u32 pid, tid;
	__s32 fd;   /* of the process, whose thread waits for an answer; or enum abi_book_says */
	__u32 held; /* the thread waits until its signal is dealt with */
	__u64 rule; /* of ABI_BOOK_ASKS: struct abi_unwind_rule */
};

struct abi_ev_fault {
	struct abi_event head;
	__u32 tid;
	__s32 signal, code; /* siginfo's */
	__u32 has_addr;	    /* 0: the signal is about no address */
	__u64 addr;	    /* that was touched, or of the instruction */
	__u64 stack;
};

#ifndef __bpf__
static_assert(sizeof(struct abi_event) == 16, "abi_event");
static_assert(offsetof(struct abi_ev_stack, frame) == 96, "abi_ev_stack");
static_assert(sizeof(struct abi_ev_map) == 88, "abi_ev_map");
static_assert(sizeof(struct abi_ev_process) == 56, "abi_ev_process");
static_assert(sizeof(struct abi_ev_occurrence) == 64, "abi_ev_occurrence");
#endif

#endif
