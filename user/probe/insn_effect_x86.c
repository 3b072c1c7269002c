/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/insn_effect.h"

#include "probe/insn_machine.h"

#include <stddef.h>

/* The number of a general register, of which `reg` may be a part. */
static uint8_t number_of(x86_reg reg)
{
	static const x86_reg parts[INSN_REGS][5] = {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
		{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
		{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
		{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
		{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
		{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
		{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
		{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
		{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
		{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
		{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
		{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
	};

	for (uint8_t n = 0; n < INSN_REGS && reg != X86_REG_INVALID; n++)
		for (int i = 0; i < 5; i++)
			if (parts[n][i] == reg)
				return n;
	return INSN_NO_REG;
}

static uint16_t bit_of(x86_reg reg)
{
	uint8_t n = number_of(reg);

	return n == INSN_NO_REG ? 0 : (uint16_t)(1U << n);
}

static bool is_vector(x86_reg reg)
{
	return (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM31) ||
	       (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM31);
}

/* Where a memory operand is. False: by an address that this does not follow. */
static bool memory_at(const cs_x86_op *op, struct insn_effect *e)
{
	const x86_op_mem *mem = &op->mem;

	e->bytes = op->size;
	e->value = mem->disp;
	if (mem->base == X86_REG_RIP || mem->segment == X86_REG_FS || mem->segment == X86_REG_GS ||
	    (mem->base == X86_REG_INVALID && mem->index == X86_REG_INVALID)) {
		e->memory = MEMORY_FIXED;
		return true;
	}
	e->base = number_of(mem->base);
	e->memory = mem->index == X86_REG_INVALID ? MEMORY_BASED : MEMORY_INDEXED;
	/* Without a base the index may be an address. */
	if (mem->base == X86_REG_INVALID)
		e->base = number_of(mem->index);
	return e->base != INSN_NO_REG;
}

/* All registers that operands name but as a base, and the operands' own effects. */
static bool note_operands(const cs_x86 *x86, bool first_is_written, struct insn_effect *e)
{
	for (int i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type == X86_OP_REG && (i > 0 || !first_is_written))
			e->reads |= bit_of(op->reg);
		if (op->type == X86_OP_MEM)
			e->reads |= bit_of(op->mem.index);
	}
	if (!first_is_written || x86->op_count < 1)
		return true;
	if (x86->operands[0].type == X86_OP_REG)
		e->writes |= bit_of(x86->operands[0].reg);
	else if (x86->operands[0].type == X86_OP_MEM)
		return memory_at(&x86->operands[0], e);
	return true;
}

static bool is_register(const cs_x86_op *op, unsigned bytes)
{
	return op->type == X86_OP_REG && op->size == bytes && number_of(op->reg) != INSN_NO_REG;
}

static enum effect_kind effect_of_move(const cs_x86 *x86, struct insn_effect *e)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];

	if (is_register(to, 8))
		e->to = number_of(to->reg);
	if (is_register(from, 8))
		e->from = number_of(from->reg);
	if (to->type == X86_OP_REG && from->type == X86_OP_IMM && from->imm == 0 &&
	    (to->size == 8 || to->size == 4) && number_of(to->reg) != INSN_NO_REG) {
		e->to = number_of(to->reg);
		return EFFECT_ZERO;
	}
	if (e->to != INSN_NO_REG && e->from != INSN_NO_REG)
		return EFFECT_COPY;
	if (e->to != INSN_NO_REG && from->type == X86_OP_MEM) {
		e->reads |= bit_of(from->mem.index);
		return memory_at(from, e) ? EFFECT_LOAD : EFFECT_UNKNOWN;
	}
	if (to->type == X86_OP_MEM && e->from != INSN_NO_REG) {
		e->reads |= bit_of(to->mem.index);
		return memory_at(to, e) ? EFFECT_STORE : EFFECT_UNKNOWN;
	}
	return note_operands(x86, true, e) ? EFFECT_WRITES : EFFECT_UNKNOWN;
}

static enum effect_kind effect_of_lea(const cs_x86 *x86, struct insn_effect *e)
{
	const cs_x86_op *to = &x86->operands[0];
	const x86_op_mem *mem = &x86->operands[1].mem;

	if (is_register(to, 8) && mem->index == X86_REG_INVALID &&
	    number_of(mem->base) != INSN_NO_REG) {
		e->to = number_of(to->reg);
		e->from = number_of(mem->base);
		e->value = mem->disp;
		return EFFECT_ADD;
	}
	e->reads |= bit_of(mem->base) | bit_of(mem->index);
	e->writes |= bit_of(to->reg);
	return EFFECT_WRITES;
}

/* add and sub with a constant, and what makes 0 of a register. */
static enum effect_kind effect_of_sum(const cs_insn *cs, struct insn_effect *e)
{
	const cs_x86 *x86 = &cs->detail->x86;
	const cs_x86_op *to = &x86->operands[0], *by = &x86->operands[1];

	e->sets_flags = true;
	if (cs->id != X86_INS_ADD && to->type == X86_OP_REG && by->type == X86_OP_REG &&
	    to->reg == by->reg && (to->size == 8 || to->size == 4)) {
		e->to = number_of(to->reg);
		return e->to == INSN_NO_REG ? EFFECT_UNKNOWN : EFFECT_ZERO;
	}
	if (cs->id != X86_INS_XOR && is_register(to, 8) && by->type == X86_OP_IMM) {
		e->to = e->from = number_of(to->reg);
		e->value = cs->id == X86_INS_ADD ? by->imm : -by->imm;
		return EFFECT_ADD;
	}
	/* What is written is read as well. */
	e->reads |= to->type == X86_OP_REG ? bit_of(to->reg) : 0;
	return note_operands(x86, true, e) ? EFFECT_WRITES : EFFECT_UNKNOWN;
}

static enum effect_kind effect_of_test(const cs_insn *cs, struct insn_effect *e)
{
	const cs_x86 *x86 = &cs->detail->x86;
	const cs_x86_op *a = &x86->operands[0], *b = &x86->operands[1];

	e->sets_flags = true;
	if (x86->op_count == 2 && is_register(a, 8) &&
	    ((cs->id == X86_INS_TEST && b->type == X86_OP_REG && a->reg == b->reg) ||
	     (cs->id == X86_INS_CMP && b->type == X86_OP_IMM && b->imm == 0)))
		e->tested = number_of(a->reg);
	(void)note_operands(x86, false, e); /* nothing is written */
	return EFFECT_WRITES;
}

static enum effect_kind effect_of_push(const cs_x86 *x86, struct insn_effect *e)
{
	const cs_x86_op *op = &x86->operands[0];

	if (op->type == X86_OP_REG && !is_register(op, 8))
		return EFFECT_UNKNOWN;
	if (op->type == X86_OP_REG)
		e->from = number_of(op->reg);
	else if (op->size != 8 && op->type == X86_OP_MEM)
		return EFFECT_UNKNOWN;
	return EFFECT_PUSH;
}

static enum effect_kind effect_of_pop(const cs_x86 *x86, struct insn_effect *e)
{
	const cs_x86_op *op = &x86->operands[0];

	if (!is_register(op, 8))
		return EFFECT_UNKNOWN;
	e->to = number_of(op->reg);
	return EFFECT_POP;
}

static enum effect_kind effect_of_product(const cs_insn *cs, struct insn_effect *e)
{
	const cs_x86 *x86 = &cs->detail->x86;

	const cs_x86_op *by = &x86->operands[x86->op_count - 1];
	bool is_division = cs->id == X86_INS_DIV || cs->id == X86_INS_IDIV;
	bool is_known = !is_division && x86->op_count < 3 && is_register(by, 8);

	e->sets_flags = true;
	if (is_known) {
		e->to = x86->op_count == 1 ? INSN_RAX : number_of(x86->operands[0].reg);
		e->from = number_of(by->reg);
		e->reads |= 1U << e->to;
	}
	if (x86->op_count != 1) { /* imul of two or three */
		if (!note_operands(x86, true, e))
			return EFFECT_UNKNOWN;
		e->writes &= is_known ? ~(1U << e->to) : 0xffff;
		return is_known ? EFFECT_PRODUCT : EFFECT_WRITES;
	}
	e->writes |= (is_known ? 0 : 1 << INSN_RAX) | 1 << INSN_RDX;
	(void)note_operands(x86, false, e);
	return is_known ? EFFECT_PRODUCT : EFFECT_WRITES;
}

/* What writes its first operand alone, and what else `also` says. */
static enum effect_kind effect_on_first(const cs_x86 *x86, uint16_t also, bool flags,
					struct insn_effect *e)
{
	if (x86->op_count > 0 && x86->operands[0].type == X86_OP_REG)
		e->reads |= bit_of(x86->operands[0].reg);
	e->writes |= also;
	e->sets_flags = flags;
	return note_operands(x86, true, e) ? EFFECT_WRITES : EFFECT_UNKNOWN;
}

static enum effect_kind effect_of_exchange(const cs_x86 *x86, bool flags, struct insn_effect *e)
{
	for (int i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_REG)
			e->writes |= bit_of(x86->operands[i].reg);
		else if (x86->operands[i].type == X86_OP_MEM && !memory_at(&x86->operands[i], e))
			return EFFECT_UNKNOWN;
	e->sets_flags = flags;
	(void)note_operands(x86, false, e);
	return EFFECT_WRITES;
}

/* Vector instructions write a vector, memory or one register: but for those that have more. */
static enum effect_kind effect_of_vector(const cs_insn *cs, struct insn_effect *e)
{
	const cs_x86 *x86 = &cs->detail->x86;
	bool has_vector = false;

	switch (cs->id) {
	case X86_INS_PCMPISTRI:
	case X86_INS_PCMPISTRM:
	case X86_INS_PCMPESTRI:
	case X86_INS_PCMPESTRM:
	case X86_INS_VPCMPISTRI:
	case X86_INS_VPCMPISTRM:
	case X86_INS_VPCMPESTRI:
	case X86_INS_VPCMPESTRM:
	case X86_INS_MASKMOVDQU:
	case X86_INS_VMASKMOVDQU:
		return EFFECT_UNKNOWN;
	default:
		break;
	}
	for (int i = 0; i < x86->op_count; i++)
		has_vector |=
			x86->operands[i].type == X86_OP_REG && is_vector(x86->operands[i].reg);
	if (!has_vector)
		return EFFECT_UNKNOWN;
	return effect_on_first(x86, 0, true, e);
}

/* What writes no register and no memory, and leaves the flags alone. */
static bool does_nothing(unsigned id)
{
	switch (id) {
	case X86_INS_NOP:
	case X86_INS_ENDBR64:
	case X86_INS_PAUSE:
	case X86_INS_MFENCE:
	case X86_INS_LFENCE:
	case X86_INS_SFENCE:
	case X86_INS_PREFETCHT0:
	case X86_INS_PREFETCHT1:
	case X86_INS_PREFETCHT2:
	case X86_INS_PREFETCHNTA:
	case X86_INS_PREFETCHW:
	case X86_INS_PREFETCH:
	case X86_INS_JMP:
	case X86_INS_RET:
	case X86_INS_UD2:
	case X86_INS_HLT:
	case X86_INS_INT3:
		return true;
	default:
		return false;
	}
}

/* What writes its first operand alone, and the flags. */
static bool changes_first(unsigned id)
{
	static const unsigned ids[] = {
		X86_INS_AND,   X86_INS_OR,    X86_INS_NEG,    X86_INS_INC,  X86_INS_DEC,
		X86_INS_SHL,   X86_INS_SHR,   X86_INS_SAR,    X86_INS_ROL,  X86_INS_ROR,
		X86_INS_RORX,  X86_INS_SHLD,  X86_INS_SHRD,   X86_INS_SHLX, X86_INS_SHRX,
		X86_INS_SARX,  X86_INS_ADC,   X86_INS_SBB,    X86_INS_BSR,  X86_INS_BSF,
		X86_INS_TZCNT, X86_INS_LZCNT, X86_INS_POPCNT, X86_INS_ANDN, X86_INS_BEXTR,
		X86_INS_BLSR,  X86_INS_BLSI,
	};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* The same without the flags. */
static bool sets_first(unsigned id)
{
	return id == X86_INS_MOVZX || id == X86_INS_MOVSX || id == X86_INS_MOVSXD ||
	       id == X86_INS_BSWAP || id == X86_INS_NOT ||
	       (id >= X86_INS_CMOVA && id <= X86_INS_CMOVS) ||
	       (id >= X86_INS_SETAE && id <= X86_INS_SETS);
}

/* Of instructions with two operands, and of the stack. */
static enum effect_kind effect_by_operands(const cs_insn *cs, struct insn_effect *e)
{
	const cs_x86 *x86 = &cs->detail->x86;

	switch (cs->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		return x86->op_count == 2 ? effect_of_move(x86, e) : EFFECT_UNKNOWN;
	case X86_INS_LEA:
		return x86->op_count == 2 ? effect_of_lea(x86, e) : EFFECT_UNKNOWN;
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_XOR:
		return x86->op_count == 2 ? effect_of_sum(cs, e) : EFFECT_UNKNOWN;
	case X86_INS_TEST:
	case X86_INS_CMP:
	case X86_INS_BT:
		return effect_of_test(cs, e);
	case X86_INS_PUSH:
		return x86->op_count == 1 ? effect_of_push(x86, e) : EFFECT_UNKNOWN;
	case X86_INS_POP:
		return x86->op_count == 1 ? effect_of_pop(x86, e) : EFFECT_UNKNOWN;
	case X86_INS_MUL:
	case X86_INS_IMUL:
	case X86_INS_DIV:
	case X86_INS_IDIV:
		return effect_of_product(cs, e);
	case X86_INS_XCHG:
		return effect_of_exchange(x86, false, e);
	case X86_INS_XADD:
		return effect_of_exchange(x86, true, e);
	case X86_INS_CMPXCHG:
		return effect_on_first(x86, 1 << INSN_RAX, true, e);
	default:
		return effect_of_vector(cs, e);
	}
}

static enum effect_kind effect_of(const cs_insn *cs, struct insn_effect *e)
{
	if (does_nothing(cs->id))
		return EFFECT_WRITES;
	if (changes_first(cs->id) || sets_first(cs->id))
		return effect_on_first(&cs->detail->x86, 0, changes_first(cs->id), e);
	switch (cs->id) {
	case X86_INS_CALL:
		return EFFECT_CALL;
	case X86_INS_SYSCALL:
		e->writes |= 1 << INSN_RAX | 1 << INSN_RCX | 1 << 11;
		return EFFECT_SYSTEM_CALL;
	case X86_INS_LEAVE:
		e->to = INSN_RBP;
		return EFFECT_LEAVE;
	case X86_INS_CDQE:
	case X86_INS_CWDE:
		e->writes |= 1 << INSN_RAX;
		return EFFECT_WRITES;
	case X86_INS_CQO:
	case X86_INS_CDQ:
		e->writes |= 1 << INSN_RDX;
		return EFFECT_WRITES;
	default:
		return effect_by_operands(cs, e);
	}
}

/* Of a conditional jump; of no other branch: loop counts in rcx, xbegin may write anything. */
static uint8_t condition_of(const cs_insn *cs)
{
	const uint8_t *opcode = cs->detail->x86.opcode;

	if ((opcode[0] & 0xf0) == 0x70)
		return opcode[0] & 0xf;
	return opcode[0] == 0x0f && (opcode[1] & 0xf0) == 0x80 ? opcode[1] & 0xf :
								 INSN_NO_CONDITION;
}

void insn_effect_x86(const cs_insn *cs, struct insn_effect *e)
{
	e->condition = condition_of(cs);
	e->kind = e->condition == INSN_NO_CONDITION ? effect_of(cs, e) : EFFECT_WRITES;
	/* With an address size prefix (0x67) registers in addresses are halves. */
	if (cs->detail->x86.addr_size == 4)
		e->kind = EFFECT_UNKNOWN;
}
