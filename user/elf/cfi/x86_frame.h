/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an instruction does to a stack frame: where the canonical frame address (CFA) is, and the
 * caller's rbp. Pure; for elf/cfi/cfi_code.c.
 */
#ifndef MEMTRACED_ELF_CFI_X86_FRAME_H
#define MEMTRACED_ELF_CFI_X86_FRAME_H

#include "elf/cfi/x86_insn.h"

/* Distances are below the CFA, which is 8 above the return address. */
struct x86_frame {
	int32_t sp;	/* CFA - rsp; X86_UNKNOWN */
	int32_t bp;	/* CFA - rbp, where rbp is a frame pointer; else X86_UNKNOWN */
	int32_t saved;	/* CFA - address of the caller's rbp; 0: that is in rbp */
	bool outermost; /* the code has set rbp to 0 that it has not saved: it has no caller */
};

#define X86_UNKNOWN INT32_MIN

/* At a function's start. */
#define X86_FRAME_AT_START ((struct x86_frame){ .sp = 8, .bp = X86_UNKNOWN })

enum x86_flow {
	X86_NEXT,   /* goes on behind it */
	X86_CALL,   /* the same when the call returns; `imm` leads to what is called */
	X86_BRANCH, /* goes on behind it, or `imm` behind that */
	X86_JUMP,   /* goes on `imm` behind it */
	X86_JUMP_ANYWHERE,
	X86_RETURN,
	X86_STOP, /* does not go on */
};

enum x86_flow x86_flow(const struct x86_insn *insn);

/* From before the instruction to behind it. False: no compiled function does this. */
bool x86_frame_step(struct x86_frame *frame, const struct x86_insn *insn);

/* Is all as at the start, so that a `ret` leads to the caller? */
bool x86_frame_is_at_start(const struct x86_frame *frame);

/* Where two paths meet: what both agree in. False: they contradict each other. */
bool x86_frame_join(struct x86_frame *frame, const struct x86_frame *other, bool *ret_changed);

#endif
