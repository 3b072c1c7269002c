/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an instruction does to general registers, to the stack and to the zero flag, as far as a
 * proof about values needs it (probe/result_sites.h). Of x86-64 alone so far.
 */
#ifndef MEMTRACED_PROBE_INSN_EFFECT_H
#define MEMTRACED_PROBE_INSN_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

struct insn_decoder;

/* General registers by their number in instructions: 0 is rax, 4 rsp, 5 rbp, 15 r15. */
#define INSN_REGS 16
enum { INSN_RAX, INSN_RCX, INSN_RDX, INSN_RBX, INSN_RSP, INSN_RBP, INSN_RSI, INSN_RDI };
#define INSN_NO_REG 0xff

/* Conditions of jumps, as instructions number them; with bit 0 set they are the opposite. */
enum { INSN_CONDITION_ZERO = 4, INSN_CONDITION_NOT_ZERO = 5, INSN_NO_CONDITION = 0xff };

enum effect_kind {
	EFFECT_UNKNOWN, /* may do anything */
	EFFECT_WRITES,	/* no more than what `writes` and `memory` say */
	EFFECT_COPY,	/* 64 bits from one register to another */
	EFFECT_LOAD,	/* 64 bits from `memory` to `to` */
	EFFECT_STORE,	/* 64 bits of `from` to `memory` */
	EFFECT_ZERO,	/* `to` becomes 0 */
	EFFECT_ADD,	/* `to` becomes `from` + value: add, sub, lea */
	EFFECT_PUSH,	/* `from`, or INSN_NO_REG */
	EFFECT_POP,	/* `to`, or INSN_NO_REG */
	EFFECT_LEAVE,	/* rsp becomes rbp, then `to`, which is rbp, is popped */
	EFFECT_CALL,	/* `to`, if there is one, becomes what `from` was before */
	EFFECT_PRODUCT, /* `to` becomes the lower 64 bits of `to` * `from` */
	EFFECT_SYSTEM_CALL,
};

enum effect_memory {
	MEMORY_NONE,
	MEMORY_BASED,	/* written at [base + value], `bytes` of it */
	MEMORY_INDEXED, /* the same with an index: anywhere in what base leads to */
	MEMORY_FIXED,	/* not on the stack: by rip, a segment or an absolute address */
};

#define INSN_ARGUMENTS 5

/* The register of a call's argument, from 1 on. */
static inline uint8_t insn_argument_register(unsigned n)
{
	static const uint8_t registers[INSN_ARGUMENTS] = { INSN_RDI, INSN_RSI, INSN_RDX, INSN_RCX,
							   8 };

	return registers[n - 1];
}

/* Which argument of a call the register has; 0: none. */
static inline unsigned insn_argument_of(uint8_t reg)
{
	for (unsigned n = 1; n <= INSN_ARGUMENTS; n++)
		if (insn_argument_register(n) == reg)
			return n;
	return 0;
}

struct insn_effect {
	enum effect_kind kind;
	enum effect_memory memory; /* written; of EFFECT_LOAD: read */
	uint8_t base;
	uint8_t bytes; /* 0: as many as it wants */
	uint8_t to, from;
	uint8_t tested;	   /* the zero flag says whether all of this register is 0; INSN_NO_REG */
	bool sets_flags;   /* or may */
	uint8_t condition; /* of a jump: INSN_CONDITION_ZERO and the like; INSN_NO_CONDITION */
	uint16_t writes;   /* bit n: some part of register n, beside `to` */
	uint16_t reads;	   /* bit n: register n is used otherwise than as the base of memory */
	int64_t value;
};

/* Of the instruction that insn_decode() has decoded last; EFFECT_UNKNOWN on other machines. */
void insn_effect(const struct insn_decoder *decoder, struct insn_effect *ret_effect);

#endif
