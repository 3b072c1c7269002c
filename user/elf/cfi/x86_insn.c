/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/x86_insn.h"

#include <string.h>

/*
 * What follows an opcode. Upper case: a ModRM byte comes first.
 *
 *   -, M  nothing             b, B  8 bits           w  16 bits
 *   z, Z  32 bits (16 with the prefix 66)            v  64 bits with REX.W, else as z
 *   j     32 bits always      o  an address of 64 bits    e  16 and 8 bits
 *   f, F  ModRM, and 8 or z bits if it names register 0 or 1
 *   p     a prefix            R  REX                 E  another map's escape
 *   x     no instruction of 64-bit mode
 */
static const char one_byte[256 + 1] = "MMMMbzxxMMMMbzxE" /* 00 */
				      "MMMMbzxxMMMMbzxx" /* 10 */
				      "MMMMbzpxMMMMbzpx" /* 20 */
				      "MMMMbzpxMMMMbzpx" /* 30 */
				      "RRRRRRRRRRRRRRRR" /* 40 */
				      "----------------" /* 50 */
				      "xxEMppppzZbB----" /* 60 */
				      "bbbbbbbbbbbbbbbb" /* 70 */
				      "BZxBMMMMMMMMMMMM" /* 80 */
				      "----------x-----" /* 90 */
				      "oooo----bz------" /* a0 */
				      "bbbbbbbbvvvvvvvv" /* b0 */
				      "BBw-EEBZe-w--bx-" /* c0 */
				      "MMMMxxx-MMMMMMMM" /* d0 */
				      "bbbbbbbbjjxb----" /* e0 */
				      "p-pp--fF------MM" /* f0 */;
static const char map_0f[256 + 1] = "MMMMx-----x-xM-x" /* 00 */
				    "MMMMMMMMMMMMMMMM" /* 10 */
				    "MMMMxxxxMMMMMMMM" /* 20 */
				    "------x-ExExxxxx" /* 30 */
				    "MMMMMMMMMMMMMMMM" /* 40 */
				    "MMMMMMMMMMMMMMMM" /* 50 */
				    "MMMMMMMMMMMMMMMM" /* 60 */
				    "BBBBMMM-MMxxMMMM" /* 70 */
				    "jjjjjjjjjjjjjjjj" /* 80 */
				    "MMMMMMMMMMMMMMMM" /* 90 */
				    "---MBMxx---MBMMM" /* a0 */
				    "MMMMMMMMMMBMMMMM" /* b0 */
				    "MMBMBBBM--------" /* c0 */
				    "MMMMMMMMMMMMMMMM" /* d0 */
				    "MMMMMMMMMMMMMMMM" /* e0 */
				    "MMMMMMMMMMMMMMMM" /* f0 */;

struct reader {
	const uint8_t *code;
	size_t len, at;
	bool is_short; /* a byte was wanted behind the end */
};

static uint8_t next_byte(struct reader *r)
{
	if (r->at >= r->len) {
		r->is_short = true;
		return 0;
	}
	return r->code[r->at++];
}

/* A little-endian number of up to 8 bytes with its sign. */
static int64_t next_number(struct reader *r, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)next_byte(r) << (8 * i);
	return (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static void read_modrm(struct reader *r, struct x86_insn *insn)
{
	unsigned mod, base;

	insn->has_modrm = true;
	insn->modrm = next_byte(r);
	mod = insn->modrm >> 6;
	base = insn->modrm & 7;
	if (mod == 3)
		return;
	if (base == 4) {
		insn->has_sib = true;
		insn->sib = next_byte(r);
		base = insn->sib & 7;
	}
	if (mod == 1)
		insn->disp = (int32_t)next_number(r, 1);
	else if (mod == 2 || base == 5)
		insn->disp = (int32_t)next_number(r, 4);
}

/* VEX and EVEX (SDM 2.3, 2.7): their prefixes' bits of registers are not kept. */
static char read_vex(struct reader *r, struct x86_insn *insn, uint8_t first)
{
	unsigned map = 1;

	insn->is_vex = true;
	if (first == 0x62) {
		map = next_byte(r) & 7;
		(void)next_number(r, 2);
	} else if (first == 0xc4) {
		map = next_byte(r) & 31;
		(void)next_byte(r);
	} else {
		(void)next_byte(r);
	}
	if (map < X86_0F || map > X86_0F3A)
		return 'x';
	insn->map = (uint8_t)map;
	insn->opcode = next_byte(r);
	if (map == X86_0F)
		return map_0f[insn->opcode];
	return map == X86_0F38 ? 'M' : 'B';
}

/* Reads the opcode; what follows it. */
static char read_opcode(struct reader *r, struct x86_insn *insn)
{
	char what;

	insn->opcode = next_byte(r);
	what = one_byte[insn->opcode];
	while (what == 'p') {
		insn->has_66 |= insn->opcode == 0x66;
		insn->has_rep |= insn->opcode == 0xf2 || insn->opcode == 0xf3;
		insn->opcode = next_byte(r);
		what = one_byte[insn->opcode];
	}
	if (what == 'R') {
		insn->rex = insn->opcode;
		insn->opcode = next_byte(r);
		what = one_byte[insn->opcode];
	}
	if (what != 'E')
		return what;
	if (insn->opcode != 0x0f)
		return insn->rex ? 'x' : read_vex(r, insn, insn->opcode);
	insn->map = X86_0F;
	insn->opcode = next_byte(r);
	what = map_0f[insn->opcode];
	if (what != 'E')
		return what;
	insn->map = insn->opcode == 0x38 ? X86_0F38 : X86_0F3A;
	insn->opcode = next_byte(r);
	return insn->map == X86_0F38 ? 'M' : 'B';
}

bool x86_decode(const uint8_t *code, size_t len, struct x86_insn *ret)
{
	struct reader r = { .code = code, .len = len < 15 ? len : 15 };
	struct x86_insn insn = { 0 };
	char what = read_opcode(&r, &insn);
	unsigned z = insn.has_66 ? 2 : 4;

	if (strchr("MBZfF", what))
		read_modrm(&r, &insn);
	if (what == 'b' || what == 'B')
		insn.imm = next_number(&r, 1);
	else if (what == 'w')
		insn.imm = next_number(&r, 2);
	else if (what == 'z' || what == 'Z')
		insn.imm = next_number(&r, z);
	else if (what == 'v')
		insn.imm = next_number(&r, insn.rex & 8 ? 8 : z);
	else if (what == 'j')
		insn.imm = next_number(&r, 4);
	else if (what == 'o')
		insn.imm = next_number(&r, 8);
	else if (what == 'e') /* enter: how much, and how many levels */
		insn.imm = next_number(&r, 3);
	else if ((what == 'f' || what == 'F') && (insn.modrm >> 3 & 7) < 2)
		insn.imm = next_number(&r, what == 'f' ? 1 : z);
	if (r.is_short || strchr("xpRE", what))
		return false;
	insn.len = (uint8_t)r.at;
	*ret = insn;
	return true;
}
