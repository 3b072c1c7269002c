/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One machine instruction, as far as the choice of probe sites needs to know it. All that is
 * particular to a machine is behind this header; x86-64 is the one there is. A decoder may be
 * used by one thread at a time.
 */
#ifndef MEMTRACED_PROBE_INSN_H
#define MEMTRACED_PROBE_INSN_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_emulation;
struct insn_decoder;

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

/* The classes of struct plan_emulation. */
enum insn_class {
	INSN_OTHER,
	INSN_CLASS_PUSH,
	INSN_CLASS_NOP1,
	INSN_CLASS_NOPL,
	INSN_CLASS_ENDBR,
	INSN_CLASS_JMP,
	INSN_CLASS_JCC,
	INSN_CLASS_CALL,
	INSN_CLASS_RET,
	INSN_CLASS_SUB_SP,
	INSN_CLASS_MOV,
};

struct insn {
	uint64_t addr;
	uint64_t target;
	uint8_t len;
	enum insn_flow flow;
	enum insn_target target_kind;
	enum insn_class class;
	bool is_nop;
	/* Known to leave sp alone and to write no argument register but those of writes_args. */
	bool is_plain;
	uint8_t writes_args; /* bit n-1: some part of the register of argument n */
};

/* `machine` as in e_machine. 0, -ENOMEM, or -EOPNOTSUPP for a machine that is not known. */
int insn_decoder_new(uint16_t machine, struct insn_decoder **ret_decoder);
void insn_decoder_free(struct insn_decoder *decoder); /* NULL is legal */
DEFINE_CLEANUP(struct insn_decoder, insn_decoder_free)

/* 0, or -EILSEQ where `bytes` does not start with an instruction that is whole and known. */
int insn_decode(struct insn_decoder *decoder, const uint8_t *bytes, size_t len, uint64_t addr,
		struct insn *ret_insn);

/* Whether the kernel described by `emulation` needs no single step for it. */
bool insn_is_emulated(const struct insn *insn, const struct plan_emulation *emulation);

/* Whether the code at `addr` is a linkage stub, all of which is a jump through one pointer. */
bool insn_stub_slot(struct insn_decoder *decoder, const uint8_t *bytes, size_t len, uint64_t addr,
		    uint64_t *ret_slot);

#endif
