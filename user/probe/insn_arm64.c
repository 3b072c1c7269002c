/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/insn_machine.h"

#include <string.h>

#define INSN_BYTES 4

static uint32_t word_of(const cs_insn *cs)
{
	uint32_t word;

	memcpy(&word, cs->bytes, sizeof(word));
	return word;
}

/*
 * Instructions whose whole effect on general registers is on their first operand, unless they write
 * back to the register of an address. What is not listed is taken to write anything.
 */
static bool writes_first_operand_only(unsigned id)
{
	switch (id) {
	case ARM64_INS_MOV:
	case ARM64_INS_MOVZ:
	case ARM64_INS_MOVN:
	case ARM64_INS_MOVK:
	case ARM64_INS_ADD:
	case ARM64_INS_SUB:
	case ARM64_INS_AND:
	case ARM64_INS_ORR:
	case ARM64_INS_EOR:
	case ARM64_INS_NEG:
	case ARM64_INS_LSL:
	case ARM64_INS_LSR:
	case ARM64_INS_ASR:
	case ARM64_INS_UBFX:
	case ARM64_INS_SXTW:
	case ARM64_INS_ADR:
	case ARM64_INS_ADRP:
	case ARM64_INS_LDR:
	case ARM64_INS_LDRB:
	case ARM64_INS_LDRH:
	case ARM64_INS_LDRSW:
	case ARM64_INS_LDUR:
	case ARM64_INS_CSEL:
	case ARM64_INS_CSET:
	case ARM64_INS_MRS:
		return true;
	default:
		return false;
	}
}

static bool writes_nothing(unsigned id)
{
	return id == ARM64_INS_CMP || id == ARM64_INS_CMN || id == ARM64_INS_TST ||
	       id == ARM64_INS_CCMP || id == ARM64_INS_NOP || id == ARM64_INS_STR ||
	       id == ARM64_INS_STRB || id == ARM64_INS_STRH || id == ARM64_INS_STUR;
}

/* Bit n-1 for (a part of) the register of integer argument n, x0 to x7 (AAPCS64). */
static uint8_t argument_bit(unsigned reg)
{
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X7)
		return (uint8_t)(1 << (reg - ARM64_REG_X0));
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W7)
		return (uint8_t)(1 << (reg - ARM64_REG_W0));
	return 0;
}

/*
 * A function that has put its link register aside returns to there, whatever a return probe then
 * writes into the register.
 */
static bool touches_link(const cs_arm64 *arm64)
{
	for (unsigned i = 0; i < arm64->op_count; i++) {
		const cs_arm64_op *op = &arm64->operands[i];

		if (op->type == ARM64_OP_REG &&
		    (op->reg == ARM64_REG_LR || op->reg == ARM64_REG_W30))
			return true;
	}
	return false;
}

static void classify_writes(const cs_insn *cs, struct insn *insn)
{
	const cs_arm64 *arm64 = &cs->detail->arm64;
	const cs_arm64_op *first = &arm64->operands[0];

	if (insn->class == INSN_CLASS_ENDBR || insn->class == INSN_CLASS_NOP1) {
		insn->is_plain = true;
		return;
	}
	if (arm64->writeback || touches_link(arm64))
		return;
	if (writes_nothing(cs->id)) {
		insn->is_plain = true;
		return;
	}
	if (!writes_first_operand_only(cs->id) || arm64->op_count < 1 ||
	    first->type != ARM64_OP_REG)
		return;
	insn->is_plain = first->reg != ARM64_REG_SP && first->reg != ARM64_REG_WSP;
	insn->writes_args = argument_bit(first->reg);
}

/* The targets of direct branches are their last operand. */
static void classify_target(const cs_insn *cs, struct insn *insn)
{
	const cs_arm64 *arm64 = &cs->detail->arm64;
	const cs_arm64_op *last = &arm64->operands[arm64->op_count ? arm64->op_count - 1 : 0];

	insn->target_kind = INSN_TARGET_COMPUTED;
	if (arm64->op_count && last->type == ARM64_OP_IMM) {
		insn->target_kind = INSN_TARGET_DIRECT;
		insn->target = (uint64_t)last->imm;
	}
}

static void classify_flow(const cs_insn *cs, struct insn *insn)
{
	uint32_t word = word_of(cs);

	switch (insn->class) {
	case INSN_CLASS_RET:
		insn->flow = INSN_RETURN;
		return;
	case INSN_CLASS_JMP:
		insn->flow = INSN_JUMP;
		break;
	case INSN_CLASS_CALL:
		insn->flow = INSN_CALL;
		break;
	case INSN_CLASS_JCC:
		insn->flow = INSN_BRANCH;
		break;
	default:
		if ((word & 0xfe000000) == 0xd6000000) {
			/* opc 1: blr, signed or not; others: br, ret x1, retaa, eret */
			insn->flow = (word >> 21 & 3) == 1 ? INSN_CALL : INSN_JUMP;
			insn->target_kind = INSN_TARGET_COMPUTED;
			return;
		}
		/* udf, which capstone 4 does not know; brk, hlt; not svc */
		if (word >> 16 == 0 || ((word & 0xff000000) == 0xd4000000 && (word & 0x1f) != 1))
			insn->flow = INSN_TRAP;
		return;
	}
	classify_target(cs, insn);
}

/* As arch/arm64/kernel/probes/decode-insn.c tells what it simulates, and forms that may come. */
static enum insn_class class_of(uint32_t word)
{
	static const struct {
		uint32_t mask, value;
		enum insn_class class;
	} rows[] = {
		{ 0xffffffff, 0xd503201f, INSN_CLASS_NOP1 },
		{ 0xffffff3f, 0xd503241f, INSN_CLASS_ENDBR }, /* bti, with or without c and j */
		{ 0xfc000000, 0x14000000, INSN_CLASS_JMP },
		{ 0xfc000000, 0x94000000, INSN_CLASS_CALL },
		{ 0xff000010, 0x54000000, INSN_CLASS_JCC }, /* b.cond */
		{ 0x7e000000, 0x34000000, INSN_CLASS_JCC }, /* cbz, cbnz */
		{ 0x7e000000, 0x36000000, INSN_CLASS_JCC }, /* tbz, tbnz */
		{ 0xffffffff, 0xd65f03c0, INSN_CLASS_RET },
		{ 0x1f000000, 0x10000000, INSN_CLASS_ADR },    /* adr, adrp */
		{ 0xffc07fff, 0xa9807bfd, INSN_CLASS_PUSH },   /* stp x29, x30, [sp, #n]! */
		{ 0xffc003ff, 0xd10003ff, INSN_CLASS_SUB_SP }, /* sub sp, sp, #n */
		{ 0xffe0ffe0, 0xaa0003e0, INSN_CLASS_MOV },    /* mov x1, x2 */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((word & rows[i].mask) == rows[i].value)
			return rows[i].class;
	return INSN_OTHER;
}

void insn_classify_arm64(const cs_insn *cs, struct insn *insn)
{
	insn->class = class_of(word_of(cs));
	insn->is_nop = insn->class == INSN_CLASS_NOP1;
	classify_flow(cs, insn);
	classify_writes(cs, insn);
}

/* Branches, exceptions and system instructions have 101 in bits 28 to 26, others have not. */
bool insn_classify_unknown_arm64(const uint8_t *bytes, size_t len, struct insn *insn)
{
	uint32_t word;

	if (len < INSN_BYTES)
		return false;
	memcpy(&word, bytes, sizeof(word));
	if ((word >> 26 & 7) == 5)
		return false;
	insn->len = INSN_BYTES;
	insn->flow = word >> 16 ? INSN_NEXT : INSN_TRAP; /* udf */
	return true;
}

/* adrp x16, page; ldr x17, [x16, #n]; add x16, x16, #n; br x17; perhaps behind a bti. */
bool insn_stub_slot_arm64(const uint8_t *bytes, size_t len, uint64_t addr, uint64_t *ret_slot)
{
	uint32_t words[5];
	uint64_t page;
	size_t at = 0;

	if (len < sizeof(words) - INSN_BYTES)
		return false;
	memset(words, 0, sizeof(words));
	memcpy(words, bytes, len < sizeof(words) ? len : sizeof(words));
	at = class_of(words[0]) == INSN_CLASS_ENDBR;
	if ((words[at] & 0x9f00001f) != 0x90000010 || (words[at + 1] & 0xffc003ff) != 0xf9400211 ||
	    (words[at + 2] & 0xff8003ff) != 0x91000210 || words[at + 3] != 0xd61f0220)
		return false;
	/* immhi:immlo, 21 bits with a sign */
	page = (uint64_t)(words[at] >> 5 & 0x7ffff) << 2 | (words[at] >> 29 & 3);
	page = (uint64_t)((int64_t)(page << 43) >> 43) << 12;
	*ret_slot = ((addr + at * INSN_BYTES) & ~UINT64_C(0xfff)) + page +
		    (words[at + 1] >> 10 & 0xfff) * 8;
	return true;
}
