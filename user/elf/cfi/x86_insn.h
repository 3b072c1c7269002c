/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes one x86-64 instruction: its length and its operands as encoded (Intel SDM vol. 2,
 * chapter 2 and appendix A). Pure; for elf/cfi/cfi_code.c.
 */
#ifndef MEMTRACED_ELF_CFI_X86_INSN_H
#define MEMTRACED_ELF_CFI_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_map { X86_ONE_BYTE, X86_0F, X86_0F38, X86_0F3A };

struct x86_insn {
	uint8_t len;
	uint8_t map; /* enum x86_map: what `opcode` is looked up in */
	uint8_t opcode;
	uint8_t rex;   /* 0: none */
	uint8_t modrm; /* valid with `has_modrm` */
	uint8_t sib;   /* valid with `has_sib` */
	bool has_modrm, has_sib;
	bool is_vex; /* VEX or EVEX: the operands are vector registers, or of BMI */
	bool has_66, has_rep;
	int32_t disp; /* of the memory operand; of [rip + disp] from the instruction's end */
	int64_t imm;  /* sign-extended; the distance of a relative jump or call */
};

/* False: the bytes are no instruction of 64-bit mode that is known, or there are too few. */
bool x86_decode(const uint8_t *code, size_t len, struct x86_insn *ret);

/* The registers of ModRM, with the bit of REX. */
static inline unsigned x86_reg(const struct x86_insn *insn)
{
	return (insn->modrm >> 3 & 7) | (insn->rex & 4) << 1;
}

static inline unsigned x86_rm(const struct x86_insn *insn)
{
	return (insn->modrm & 7) | (insn->rex & 1) << 3;
}

/* Is the ModRM operand a register? Else it is memory. */
static inline bool x86_rm_is_register(const struct x86_insn *insn)
{
	return insn->modrm >> 6 == 3;
}

#endif
