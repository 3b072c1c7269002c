/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check-stacks: beside a stack that the programs have walked, what it was walked in. The daemon
 * unwinds that once more by other means (user/trace/unwind/stack_check.h).
 */
#ifndef MEMTRACED_BPF_ABI_STACK_COPY_H
#define MEMTRACED_BPF_ABI_STACK_COPY_H

#include "abi_event.h"

#define ABI_COPY_PAGE 4096
/* Two areas; the second follows the first, but for a thread on its alternate signal stack. */
#define ABI_COPY_AREAS 2
#define ABI_COPY_AREA_PAGES 16
#define ABI_COPY_PAGES (ABI_COPY_AREAS * ABI_COPY_AREA_PAGES)
/* Calls in flight whose return address a return probe has replaced. */
#define ABI_COPY_RETURNS 64

/* As the kernel keeps them: arch/x86/include/asm/ptrace.h, struct pt_regs. */
enum abi_register {
	ABI_R15,
	ABI_R14,
	ABI_R13,
	ABI_R12,
	ABI_RBP,
	ABI_RBX,
	ABI_R11,
	ABI_R10,
	ABI_R9,
	ABI_R8,
	ABI_RAX,
	ABI_RCX,
	ABI_RDX,
	ABI_RSI,
	ABI_RDI,
	ABI_ORIG_RAX,
	ABI_RIP,
	ABI_CS,
	ABI_FLAGS,
	ABI_RSP,
	ABI_SS,
	ABI_REGISTERS
};

struct abi_return {
	__u64 slot;    /* where on the stack */
	__u64 address; /* what the program had written there */
};

struct abi_ev_stack_copy {
	struct abi_event head;
	__u32 at;      /* enum abi_stack_at */
	__u32 returns; /* as many of them; more than there is room for: some are missing */
	__u64 reg[ABI_REGISTERS];
	__u64 base[ABI_COPY_AREAS]; /* first address */
	__u32 readable;		    /* bit i: page i is there */
	__u32 pages;		    /* of memory[] that follow */
	struct abi_return replaced[ABI_COPY_RETURNS];
	struct abi_ev_stack walked;
	__u8 memory[ABI_COPY_PAGES][ABI_COPY_PAGE];
};

/* Copies that are being made at a time. */
#define ABI_COPY_BUFFERS 8

#ifndef __bpf__
static_assert(ABI_COPY_PAGES <= 32, "bits of abi_ev_stack_copy.readable");
#endif

#endif
