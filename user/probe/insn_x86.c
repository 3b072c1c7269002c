/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/insn_machine.h"

#include <string.h>

#if CS_API_MAJOR < 5
#define X86_INS_UD1 X86_INS_UD2B /* the older name */
#endif

/*
 * Instructions whose whole effect on general registers is on their first operand. What is not
 * listed is taken to write anything, so that a gap in capstone's tables costs speed, not truth.
 */
static bool writes_first_operand_only(unsigned id)
{
	switch (id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
	case X86_INS_LEA:
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_AND:
	case X86_INS_OR:
	case X86_INS_XOR:
	case X86_INS_NOT:
	case X86_INS_NEG:
	case X86_INS_INC:
	case X86_INS_DEC:
	case X86_INS_SHL:
	case X86_INS_SHR:
	case X86_INS_SAR:
		return true;
	default:
		return id >= X86_INS_CMOVA && id <= X86_INS_CMOVS;
	}
}

static bool writes_nothing(unsigned id)
{
	return id == X86_INS_TEST || id == X86_INS_CMP || id == X86_INS_BT || id == X86_INS_NOP ||
	       id == X86_INS_ENDBR64;
}

/* Bit n-1 for (a part of) the register of integer argument n in the System V calling convention. */
static uint8_t argument_bit(x86_reg reg)
{
	switch (reg) {
	case X86_REG_RDI:
	case X86_REG_EDI:
	case X86_REG_DI:
	case X86_REG_DIL:
		return 1 << 0;
	case X86_REG_RSI:
	case X86_REG_ESI:
	case X86_REG_SI:
	case X86_REG_SIL:
		return 1 << 1;
	case X86_REG_RDX:
	case X86_REG_EDX:
	case X86_REG_DX:
	case X86_REG_DL:
	case X86_REG_DH:
		return 1 << 2;
	case X86_REG_RCX:
	case X86_REG_ECX:
	case X86_REG_CX:
	case X86_REG_CL:
	case X86_REG_CH:
		return 1 << 3;
	case X86_REG_R8:
	case X86_REG_R8D:
	case X86_REG_R8W:
	case X86_REG_R8B:
		return 1 << 4;
	case X86_REG_R9:
	case X86_REG_R9D:
	case X86_REG_R9W:
	case X86_REG_R9B:
		return 1 << 5;
	default:
		return 0;
	}
}

static bool is_stack_pointer(x86_reg reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
}

static void classify_writes(const cs_insn *cs, struct insn *insn)
{
	const cs_x86 *x86 = &cs->detail->x86;
	const cs_x86_op *first = &x86->operands[0];

	if (writes_nothing(cs->id)) {
		insn->is_plain = true;
		return;
	}
	if (!writes_first_operand_only(cs->id) || x86->op_count < 1)
		return;
	if (first->type != X86_OP_REG) {
		insn->is_plain = first->type == X86_OP_MEM;
		return;
	}
	insn->is_plain = !is_stack_pointer(first->reg);
	insn->writes_args = argument_bit(first->reg);
}

static void classify_target(const cs_insn *cs, struct insn *insn)
{
	const cs_x86_op *op = &cs->detail->x86.operands[0];

	insn->target_kind = INSN_TARGET_COMPUTED;
	if (cs->detail->x86.op_count < 1)
		return;
	if (op->type == X86_OP_IMM) {
		insn->target_kind = INSN_TARGET_DIRECT;
		insn->target = (uint64_t)op->imm;
	} else if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP &&
		   op->mem.index == X86_REG_INVALID &&
		   (op->mem.segment == X86_REG_INVALID || op->mem.segment == X86_REG_DS)) {
		insn->target_kind = INSN_TARGET_SLOT;
		insn->target = cs->address + cs->size + (uint64_t)op->mem.disp;
	}
}

static bool in_group(const cs_insn *cs, uint8_t group)
{
	for (unsigned i = 0; i < cs->detail->groups_count; i++)
		if (cs->detail->groups[i] == group)
			return true;
	return false;
}

static void classify_flow(const cs_insn *cs, struct insn *insn)
{
	switch (cs->id) {
	case X86_INS_RET:
		insn->flow = INSN_RETURN;
		return;
	case X86_INS_UD0:
	case X86_INS_UD2:
	case X86_INS_UD1:
	case X86_INS_HLT:
	case X86_INS_INT3:
		insn->flow = INSN_TRAP;
		return;
	case X86_INS_JMP:
		insn->flow = INSN_JUMP;
		break;
	case X86_INS_CALL:
		insn->flow = INSN_CALL;
		break;
	case X86_INS_LCALL: /* far: through a selector, to nowhere that this could follow */
		insn->flow = INSN_CALL;
		insn->target_kind = INSN_TARGET_COMPUTED;
		return;
	case X86_INS_LJMP:
		insn->flow = INSN_JUMP;
		insn->target_kind = INSN_TARGET_COMPUTED;
		return;
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
	case X86_INS_XBEGIN: /* its target is where an aborted transaction goes on */
		insn->flow = INSN_BRANCH;
		break;
	default:
		if (in_group(cs, X86_GRP_JUMP)) {
			insn->flow = INSN_BRANCH;
		} else if (in_group(cs, X86_GRP_RET) || in_group(cs, X86_GRP_IRET)) {
			/* Far returns go wherever the stack says. */
			insn->flow = INSN_JUMP;
			insn->target_kind = INSN_TARGET_COMPUTED;
			return;
		} else {
			return;
		}
	}
	classify_target(cs, insn);
}

/* Skips legacy prefixes and REX; NULL where the kernel refuses probes or does not emulate. */
static const uint8_t *skip_prefixes(const cs_insn *cs, bool *ret_opsize, uint8_t *ret_rex)
{
	const uint8_t *p = cs->bytes, *end = cs->bytes + cs->size;

	*ret_opsize = false;
	*ret_rex = 0;
	for (; p < end; p++) {
		switch (*p) {
		case 0x66:
			*ret_opsize = true;
			continue;
		case 0x64:
		case 0x65:
		case 0x67:
		case 0xf2:
		case 0xf3:
			continue;
		case 0x26: /* arch/x86/kernel/uprobes.c, is_prefix_bad(): es cs ss ds lock */
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
			return NULL;
		default:
			break;
		}
		break;
	}
	if (p < end && (*p & 0xf0) == 0x40)
		*ret_rex = *p++;
	return p < end ? p : NULL;
}

/*
 * As arch/x86/kernel/uprobes.c decides: branches without 0x66 (push_setup_xol_ops and
 * branch_setup_xol_ops), push of a register with no prefix but REX.B; and the forms that later
 * kernels add, 64-bit `sub $imm, %rsp` and `mov` between registers.
 */
static enum insn_class class_of(const cs_insn *cs, const struct insn *insn)
{
	bool opsize;
	uint8_t rex;
	const uint8_t *op = skip_prefixes(cs, &opsize, &rex);
	size_t left = op ? (size_t)(cs->bytes + cs->size - op) : 0;

	if (!op)
		return INSN_OTHER;
	if (op[0] >= 0x50 && op[0] <= 0x57)
		return cs->size == 1 || (cs->size == 2 && rex == 0x41) ? INSN_CLASS_PUSH :
									 INSN_OTHER;
	if (cs->id == X86_INS_ENDBR64)
		return INSN_CLASS_ENDBR;
	if (op[0] == 0x90 && cs->id == X86_INS_NOP)
		return INSN_CLASS_NOP1;
	if (left > 2 && op[0] == 0x0f && op[1] == 0x1f && (op[2] & 0x38) == 0)
		return INSN_CLASS_NOPL;
	if (op[0] == 0xc3 && cs->size == 1)
		return INSN_CLASS_RET;
	if (!opsize && (op[0] == 0xeb || op[0] == 0xe9))
		return INSN_CLASS_JMP;
	if (!opsize && op[0] == 0xe8)
		return INSN_CLASS_CALL;
	if (!opsize && insn->flow == INSN_BRANCH &&
	    ((op[0] & 0xf0) == 0x70 || (op[0] == 0x0f && left > 1 && (op[1] & 0xf0) == 0x80)))
		return INSN_CLASS_JCC;
	if (op != cs->bytes + 1 || !(rex & 8) || left < 2)
		return INSN_OTHER;
	if (rex == 0x48 && (op[0] == 0x83 || op[0] == 0x81) && op[1] == 0xec)
		return INSN_CLASS_SUB_SP;
	if ((op[0] == 0x89 || op[0] == 0x8b) && op[1] >= 0xc0)
		return INSN_CLASS_MOV;
	return INSN_OTHER;
}

/*
 * Linux 6.18 to 7.1 make a call of it at its first hit (arch/x86/kernel/uprobes.c, can_optimize),
 * and fork does not copy the page that is called: a forked child is killed at its next hit.
 */
static bool becomes_a_call(const cs_insn *cs)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	return cs->size == sizeof(nop5) && memcmp(cs->bytes, nop5, sizeof(nop5)) == 0;
}

/* The same file, is_prefix_bad(): lock, and segments but fs and gs. */
static bool is_refused(const cs_insn *cs)
{
	const uint8_t *prefix = cs->detail->x86.prefix;

	return becomes_a_call(cs) || prefix[0] == 0xf0 || prefix[1] == 0x26 || prefix[1] == 0x2e ||
	       prefix[1] == 0x36 || prefix[1] == 0x3e;
}

void insn_classify_x86(const cs_insn *cs, struct insn *insn)
{
	insn->is_refused = is_refused(cs);
	insn->is_nop = cs->id == X86_INS_NOP;
	classify_flow(cs, insn);
	classify_writes(cs, insn);
	insn->class = class_of(cs, insn);
}
