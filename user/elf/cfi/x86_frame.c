/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/x86_frame.h"

enum { RSP = 4, RBP = 5 };
#define WORD_BYTES 8

static bool is_one_byte(const struct x86_insn *insn, uint8_t opcode)
{
	return insn->map == X86_ONE_BYTE && insn->opcode == opcode;
}

static bool is_one_of(const struct x86_insn *insn, uint8_t first, uint8_t last)
{
	return insn->map == X86_ONE_BYTE && insn->opcode >= first && insn->opcode <= last;
}

/* The number in the middle of ModRM that chooses among operations. */
static unsigned group(const struct x86_insn *insn)
{
	return insn->modrm >> 3 & 7;
}

static enum x86_flow flow_of_group5(const struct x86_insn *insn)
{
	switch (group(insn)) {
	case 4:
	case 5:
		return X86_JUMP_ANYWHERE;
	default: /* an indirect call goes on like anything else */
		return X86_NEXT;
	}
}

enum x86_flow x86_flow(const struct x86_insn *insn)
{
	uint8_t opcode = insn->opcode;

	if (insn->map == X86_0F && !insn->is_vex) {
		if (opcode >= 0x80 && opcode <= 0x8f)
			return X86_BRANCH;
		return opcode == 0x0b ? X86_STOP : X86_NEXT; /* ud2 */
	}
	if (insn->map != X86_ONE_BYTE)
		return X86_NEXT;
	if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3))
		return X86_BRANCH;
	switch (opcode) {
	case 0xe8:
		return X86_CALL;
	case 0xe9:
	case 0xeb:
		return X86_JUMP;
	case 0xc2:
	case 0xc3:
		return X86_RETURN;
	case 0xca: /* far returns, int3, iret, hlt */
	case 0xcb:
	case 0xcc:
	case 0xcf:
	case 0xf4:
		return X86_STOP;
	case 0xff:
		return flow_of_group5(insn);
	default:
		return X86_NEXT;
	}
}

/* Does a one-byte opcode write its ModRM operand (register or memory)? */
static bool writes_rm(const struct x86_insn *insn)
{
	uint8_t opcode = insn->opcode;

	if (opcode < 0x38)
		return (opcode & 6) == 0;
	switch (opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		return group(insn) != 7; /* cmp */
	case 0xf6:
	case 0xf7:
		return group(insn) == 2 || group(insn) == 3; /* not, neg */
	case 0xfe:
	case 0xff:
		return group(insn) < 2; /* inc, dec */
	case 0x86:
	case 0x87:
	case 0x88:
	case 0x89:
	case 0x8c:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
		return true;
	default:
		return opcode >= 0xd0 && opcode <= 0xd3;
	}
}

/* Does it write the register of its ModRM byte? */
static bool writes_reg(const struct x86_insn *insn)
{
	uint8_t opcode = insn->opcode;

	if (opcode < 0x38)
		return (opcode & 6) == 2;
	switch (opcode) {
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x86:
	case 0x87:
	case 0x8a:
	case 0x8b:
	case 0x8d:
		return true;
	default:
		return false;
	}
}

/* The same of opcodes behind 0f. Those that name general registers; others name vectors. */
static bool writes_rm_0f(const struct x86_insn *insn)
{
	switch (insn->opcode) {
	case 0x7e: /* movd; with f3 it is of vectors */
		return insn->has_66;
	case 0xa4: /* shld, shrd, bts, btr, btc, cmpxchg, xadd */
	case 0xa5:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xba:
	case 0xbb:
	case 0xc0:
	case 0xc1:
		return true;
	default:
		return insn->opcode >= 0x90 && insn->opcode <= 0x9f; /* setcc */
	}
}

static bool writes_reg_0f(const struct x86_insn *insn)
{
	switch (insn->opcode) {
	case 0x02: /* lar, lsl */
	case 0x03:
	case 0x50: /* movmskps, pmovmskb, pextrw */
	case 0xc5:
	case 0xd7:
	case 0xaf: /* imul, movzx, movsx, popcnt, bsf, bsr, xadd */
	case 0xb6:
	case 0xb7:
	case 0xb8:
	case 0xbc:
	case 0xbd:
	case 0xbe:
	case 0xbf:
	case 0xc0:
	case 0xc1:
		return true;
	case 0x2c: /* cvttss2si and the like; without the prefix of vectors */
	case 0x2d:
		return insn->has_rep;
	default:
		return insn->opcode >= 0x40 && insn->opcode <= 0x4f; /* cmovcc */
	}
}

/* Registers that are in the opcode: mov $imm and xchg %rax. */
static bool writes_opcode_register(const struct x86_insn *insn, unsigned reg)
{
	unsigned number = (insn->opcode & 7) | (insn->rex & 1) << 3;

	if (insn->map == X86_0F)
		return !insn->is_vex && insn->opcode >= 0xc8 && insn->opcode <= 0xcf &&
		       number == reg; /* bswap */
	return (is_one_of(insn, 0x91, 0x97) || is_one_of(insn, 0xb8, 0xbf)) && number == reg;
}

static bool writes_register(const struct x86_insn *insn, unsigned reg)
{
	bool to_rm, to_reg;

	if (!insn->has_modrm)
		return writes_opcode_register(insn, reg);
	switch (insn->map) {
	case X86_ONE_BYTE:
		to_rm = writes_rm(insn);
		to_reg = writes_reg(insn);
		break;
	case X86_0F:
		to_rm = !insn->is_vex && writes_rm_0f(insn);
		to_reg = !insn->is_vex && writes_reg_0f(insn);
		break;
	case X86_0F38: /* movbe, crc32, and those of BMI, whose destination may be another field */
		return insn->opcode >= 0xf0;
	default: /* pextr, extractps; rorx */
		return insn->opcode == 0xf0 || (insn->opcode >= 0x14 && insn->opcode <= 0x17 &&
						x86_rm_is_register(insn) && x86_rm(insn) == reg);
	}
	return (to_rm && x86_rm_is_register(insn) && x86_rm(insn) == reg) ||
	       (to_reg && x86_reg(insn) == reg);
}

/* disp(%base), without an index */
static bool is_at_register(const struct x86_insn *insn, unsigned base)
{
	unsigned mod = insn->modrm >> 6;

	if (!insn->has_modrm || mod == 3 || insn->rex & 1)
		return false;
	if (insn->has_sib)
		return (insn->sib >> 3 & 7) == 4 && !(insn->rex & 2) && (insn->sib & 7) == base &&
		       (mod != 0 || base != RBP);
	return (insn->modrm & 7) == base && (mod != 0 || base != RBP);
}

static bool is_64_bit(const struct x86_insn *insn)
{
	return insn->rex & 8;
}

static int32_t moved(int32_t distance, int64_t by)
{
	int64_t to = (int64_t)distance - by;

	return distance == X86_UNKNOWN || to < 0 || to > INT16_MAX * WORD_BYTES ? X86_UNKNOWN :
										  (int32_t)to;
}

static void frame_push(struct x86_frame *frame, bool is_rbp)
{
	frame->sp = moved(frame->sp, -WORD_BYTES);
	if (is_rbp && !frame->saved && frame->sp != X86_UNKNOWN)
		frame->saved = frame->sp;
}

static bool change_rbp(struct x86_frame *frame)
{
	frame->bp = X86_UNKNOWN;
	return frame->saved != 0;
}

static bool pop(struct x86_frame *frame, bool is_rbp)
{
	bool restores = frame->saved && frame->sp == frame->saved;

	frame->sp = moved(frame->sp, WORD_BYTES);
	if (!is_rbp)
		return true;
	frame->bp = X86_UNKNOWN;
	if (restores)
		frame->saved = 0;
	return restores || frame->saved;
}

static bool leave(struct x86_frame *frame)
{
	frame->sp = frame->bp;
	return pop(frame, true);
}

/* mov and lea that make one of the two registers of another. True: it was one. */
static bool step_move(struct x86_frame *frame, const struct x86_insn *insn)
{
	bool to_rm = is_one_byte(insn, 0x89), to_reg = is_one_byte(insn, 0x8b);
	bool is_register = insn->has_modrm && x86_rm_is_register(insn);
	unsigned from = to_rm ? x86_reg(insn) : x86_rm(insn);
	unsigned to = to_rm ? x86_rm(insn) : x86_reg(insn);

	if (!is_64_bit(insn))
		return false;
	if ((to_rm || to_reg) && is_register && from == RSP && to == RBP && frame->saved) {
		frame->bp = frame->sp;
		return true;
	}
	if ((to_rm || to_reg) && is_register && from == RBP && to == RSP) {
		frame->sp = frame->bp;
		return true;
	}
	if (is_one_byte(insn, 0x8d) && is_at_register(insn, RSP)) {
		if (to == RSP)
			frame->sp = moved(frame->sp, insn->disp);
		else if (to == RBP && frame->saved)
			frame->bp = moved(frame->sp, insn->disp);
		else
			return false;
		return true;
	}
	if (is_one_byte(insn, 0x8d) && is_at_register(insn, RBP) && to == RSP) {
		frame->sp = moved(frame->bp, insn->disp);
		return true;
	}
	return false;
}

/* mov between rbp and a word of the stack. True: it was one. */
static bool step_save(struct x86_frame *frame, const struct x86_insn *insn)
{
	int32_t at;

	if (!is_64_bit(insn) || !is_at_register(insn, RSP) || x86_reg(insn) != RBP)
		return false;
	at = moved(frame->sp, insn->disp);
	if (is_one_byte(insn, 0x89) && !frame->saved && at != X86_UNKNOWN && at > WORD_BYTES) {
		frame->saved = at;
		return true;
	}
	if (is_one_byte(insn, 0x8b) && frame->saved && at == frame->saved) {
		frame->saved = 0;
		frame->bp = X86_UNKNOWN;
		return true;
	}
	return false;
}

/* push, pop, leave, enter, and what they are with ModRM. True: it was one; *ret_sound as below. */
static bool step_stack(struct x86_frame *frame, const struct x86_insn *insn, bool *ret_sound)
{
	bool is_rbp = insn->opcode % 8 == RBP && !(insn->rex & 1);

	if (is_one_of(insn, 0x50, 0x57))
		frame_push(frame, is_rbp);
	else if (is_one_of(insn, 0x58, 0x5f))
		*ret_sound = pop(frame, is_rbp) && (insn->opcode % 8 != RSP || insn->rex & 1);
	else if (is_one_byte(insn, 0x68) || is_one_byte(insn, 0x6a) || is_one_byte(insn, 0x9c) ||
		 (is_one_byte(insn, 0xff) && group(insn) == 6))
		frame_push(frame, false);
	else if (is_one_byte(insn, 0x9d))
		(void)pop(frame, false);
	else if (is_one_byte(insn, 0x8f))
		*ret_sound = pop(frame, false) && !x86_rm_is_register(insn);
	else if (is_one_byte(insn, 0xc9))
		*ret_sound = leave(frame);
	else if (is_one_byte(insn, 0xc8))
		*ret_sound = false;
	else
		return false;
	return true;
}

bool x86_frame_step(struct x86_frame *frame, const struct x86_insn *insn)
{
	bool sound = true, is_immediate = is_one_byte(insn, 0x83) || is_one_byte(insn, 0x81);

	if (frame->outermost || step_stack(frame, insn, &sound) || step_move(frame, insn) ||
	    step_save(frame, insn))
		return sound;
	if (is_immediate && is_64_bit(insn) && x86_rm_is_register(insn) && x86_rm(insn) == RSP &&
	    (group(insn) == 0 || group(insn) == 5)) {
		frame->sp = moved(frame->sp, group(insn) == 0 ? insn->imm : -insn->imm);
		return true;
	}
	if ((is_one_byte(insn, 0x31) || is_one_byte(insn, 0x33)) && insn->modrm == 0xed &&
	    !(insn->rex & 5) && !frame->saved) {
		frame->outermost = true;
		return true;
	}
	if (writes_register(insn, RSP))
		frame->sp = X86_UNKNOWN;
	return !writes_register(insn, RBP) || change_rbp(frame);
}

bool x86_frame_is_at_start(const struct x86_frame *frame)
{
	return !frame->outermost && frame->sp == WORD_BYTES && !frame->saved &&
	       frame->bp == X86_UNKNOWN;
}

bool x86_frame_join(struct x86_frame *frame, const struct x86_frame *other, bool *ret_changed)
{
	*ret_changed = false;
	if (frame->outermost != other->outermost || frame->saved != other->saved)
		return false;
	if (frame->sp != other->sp && frame->sp != X86_UNKNOWN) {
		frame->sp = X86_UNKNOWN;
		*ret_changed = true;
	}
	if (frame->bp != other->bp && frame->bp != X86_UNKNOWN) {
		frame->bp = X86_UNKNOWN;
		*ret_changed = true;
	}
	return true;
}
