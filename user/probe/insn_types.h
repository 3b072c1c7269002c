/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What insn.h tells of an instruction, and which of them a kernel emulates under a uprobe. */
#ifndef MEMTRACED_PROBE_INSN_TYPES_H
#define MEMTRACED_PROBE_INSN_TYPES_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that hold any instruction. */
#define INSN_MAX_LEN 16

enum insn_flow {
	INSN_NEXT,   /* goes on with the following instruction */
	INSN_BRANCH, /* may go on at its target */
	INSN_JUMP,
	INSN_CALL,
	INSN_RETURN,
	INSN_TRAP, /* no way on: ud2, hlt, int3 */
};

enum insn_target {
	INSN_TARGET_NONE,
	INSN_TARGET_DIRECT,   /* `target` is the address */
	INSN_TARGET_SLOT,     /* `target` is the address of one fixed pointer that holds it */
	INSN_TARGET_COMPUTED, /* a register, a table */
};

/* The classes of struct plan_emulation, by their names on x86-64. */
enum insn_class {
	INSN_OTHER,
	INSN_CLASS_PUSH, /* arm64: stp x29, x30, [sp, #-n]! */
	INSN_CLASS_NOP1,
	INSN_CLASS_NOPL,
	INSN_CLASS_ENDBR, /* bti */
	INSN_CLASS_JMP,	  /* b */
	INSN_CLASS_JCC,	  /* b.cond, cbz, tbz */
	INSN_CLASS_CALL,  /* bl */
	INSN_CLASS_RET,
	INSN_CLASS_SUB_SP,
	INSN_CLASS_MOV,
	INSN_CLASS_ADR, /* adr, adrp */
};

struct insn {
	uint64_t addr;
	uint64_t target;
	uint8_t len;
	enum insn_flow flow;
	enum insn_target target_kind;
	enum insn_class class;
	bool is_nop;
	bool is_refused; /* the kernel puts no probe there, or one that is not safe */
	/* Known to leave sp and the return address alone, and to write no argument register but
	 * those of writes_args. */
	bool is_plain;
	uint8_t writes_args; /* bit n-1: some part of the register of argument n */
};

/*
 * Which instructions a kernel emulates under a uprobe: a probe on any other is single-stepped, at
 * some ten times the cost. trace/features measures it, the plan chooses probe sites by it.
 */

struct plan_emulation {
	bool push, nop1, nopl, endbr, jmp, jcc, call, ret, sub_sp, mov, adr;
};

#endif
