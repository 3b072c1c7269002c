/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi_rule.h"

#include <dwarf.h>
#include <stddef.h>

#define WORD_BYTES 8
/* An expression is read for each row that it holds for. Compilers' have some bytes. */
#define MAX_EXPRESSION 64

/* struct sigcontext of arch/x86/include/uapi/asm/sigcontext.h */
#define SIGCONTEXT_RBP 80
#define SIGCONTEXT_RSP 120
#define SIGCONTEXT_RIP 128

/* An expression of the form reg + offset, or *(reg + offset) + then. */
struct simple {
	uint64_t reg;
	int64_t offset, then;
	bool is_deref;
};

/* `op` adds a constant: how much. */
static bool read_constant(struct cfi_reader *r, uint8_t op, int64_t *ret)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		*ret = op - DW_OP_lit0;
		return cfi_get_u8(r) == DW_OP_plus;
	}
	*ret = (int64_t)cfi_get_uleb(r);
	return op == DW_OP_plus_uconst;
}

static bool read_simple(const struct cfi_place *place, struct simple *ret)
{
	struct cfi_reader r = { place->expression, place->expression + place->expression_len,
				false };
	struct simple simple = { 0 };
	uint8_t op = cfi_get_u8(&r);
	int64_t more;

	if (op < DW_OP_breg0 || op > DW_OP_breg31 || place->expression_len > MAX_EXPRESSION)
		return false;
	simple.reg = op - DW_OP_breg0;
	simple.offset = cfi_get_sleb(&r);
	while (cfi_left(&r)) {
		int64_t *sum = simple.is_deref ? &simple.then : &simple.offset;

		op = cfi_get_u8(&r);
		if (op == DW_OP_deref && !simple.is_deref)
			simple.is_deref = true;
		else if (!read_constant(&r, op, &more) || __builtin_add_overflow(*sum, more, sum))
			return false;
	}
	*ret = simple;
	return !r.failed && cfi_left(&r) == 0;
}

/*
 * GNU ld's and LLD's PLT entries of 16 bytes push a word behind their first `*ret_threshold`:
 * rsp + 8 + ((rip & 15) >= threshold) << 3.
 */
static bool is_plt(const struct cfi_place *place, int16_t *ret_threshold)
{
	static const uint8_t wanted[] = { DW_OP_breg7, 8,	  DW_OP_breg16, 0,
					  DW_OP_lit15, DW_OP_and, DW_OP_lit0,	DW_OP_ge,
					  DW_OP_lit3,  DW_OP_shl, DW_OP_plus };
	enum { THRESHOLD = 6 };

	if (place->expression_len != sizeof(wanted))
		return false;
	for (size_t i = 0; i < sizeof(wanted); i++)
		if (i != THRESHOLD && place->expression[i] != wanted[i])
			return false;
	*ret_threshold = (int16_t)(place->expression[THRESHOLD] - DW_OP_lit0);
	return *ret_threshold >= 0 && *ret_threshold <= 15;
}

static bool is_saved_at(const struct cfi_place *place, int64_t offset)
{
	struct simple at;

	return place->how == CFI_EXPRESSION && read_simple(place, &at) && at.reg == CFI_RSP &&
	       at.offset == offset && !at.is_deref;
}

/* The frame of a signal handler's return, which finds all registers in a struct sigcontext. */
static bool is_signal(const struct cfi_state *state, int64_t *ret_offset)
{
	struct simple ra;

	if (state->ra.how != CFI_EXPRESSION || !read_simple(&state->ra, &ra) || ra.reg != CFI_RSP ||
	    ra.is_deref)
		return false;
	if (__builtin_sub_overflow(ra.offset, SIGCONTEXT_RIP, ret_offset))
		return false;
	return is_saved_at(&state->rsp, *ret_offset + SIGCONTEXT_RSP) &&
	       is_saved_at(&state->rbp, *ret_offset + SIGCONTEXT_RBP);
}

static struct abi_unwind_rule lose(uint32_t lost[CFI_LOSSES], enum cfi_loss why)
{
	lost[why]++;
	return (struct abi_unwind_rule){ .kind = ABI_UNWIND_UNSUPPORTED };
}

/* 0, or why not. */
static int set_cfa(const struct cfi_place *cfa, struct abi_unwind_rule *rule, int64_t *ret_offset)
{
	struct simple simple;

	if (cfa->how == CFI_EXPRESSION && is_plt(cfa, &rule->bp_offset)) {
		rule->kind = ABI_UNWIND_PLT;
		*ret_offset = WORD_BYTES;
		return 0;
	}
	if (cfa->how == CFI_EXPRESSION) {
		if (!read_simple(cfa, &simple))
			return CFI_CFA_EXPRESSIONS;
	} else if (cfa->how == CFI_OFFSET) {
		simple = (struct simple){ .reg = cfa->reg, .offset = cfa->offset };
	} else {
		return CFI_CFA_REGISTERS;
	}
	*ret_offset = simple.offset;
	if (simple.is_deref) {
		*ret_offset = ABI_UNWIND_DEREF(simple.offset, simple.then);
		if (simple.offset != ABI_UNWIND_DEREF_AT(*ret_offset) ||
		    simple.then != ABI_UNWIND_DEREF_THEN(*ret_offset))
			return CFI_OFFSETS;
	}
	if (simple.reg == CFI_RBX && !simple.is_deref) {
		rule->kind = ABI_UNWIND_RBX;
		return 0;
	}
	if (simple.reg != CFI_RSP && simple.reg != CFI_RBP)
		return CFI_CFA_REGISTERS;
	if (simple.is_deref)
		rule->kind = simple.reg == CFI_RSP ? ABI_UNWIND_SP_DEREF : ABI_UNWIND_BP_DEREF;
	else
		rule->kind = simple.reg == CFI_RSP ? ABI_UNWIND_SP : ABI_UNWIND_BP;
	return 0;
}

/* Where the caller's rbp is: 0, or why it cannot be said. cfa: what the information calls so. */
static int set_bp(const struct cfi_place *rbp, int64_t cfa, struct abi_unwind_rule *rule)
{
	struct simple simple = { 0 };

	switch (rbp->how) {
	case CFI_UNSPECIFIED:
	case CFI_UNDEFINED: /* the caller does without: whatever it is then */
	case CFI_SAME:
		return 0;
	case CFI_OFFSET:
		rule->bp = ABI_UNWIND_BP_AT_CFA;
		if (__builtin_add_overflow(rbp->offset, cfa, &simple.offset))
			return CFI_OFFSETS;
		break;
	case CFI_REGISTER:
		return rbp->reg == CFI_RBP ? 0 : CFI_FRAME_POINTERS;
	case CFI_EXPRESSION:
		if (!read_simple(rbp, &simple) || simple.is_deref)
			return CFI_FRAME_POINTERS;
		if (simple.reg == CFI_RBP) {
			rule->bp = ABI_UNWIND_BP_AT_BP;
			break;
		}
		if (simple.reg != CFI_RSP || rule->kind != ABI_UNWIND_SP)
			return CFI_FRAME_POINTERS;
		rule->bp = ABI_UNWIND_BP_AT_CFA;
		if (__builtin_sub_overflow(simple.offset, rule->offset, &simple.offset))
			return CFI_OFFSETS;
		break;
	default:
		return CFI_FRAME_POINTERS;
	}
	if (rule->kind == ABI_UNWIND_PLT)
		return CFI_FRAME_POINTERS; /* its field is taken */
	rule->bp_offset = (int16_t)simple.offset;
	return rule->bp_offset == simple.offset ? 0 : CFI_OFFSETS;
}

/* glibc's vfork() takes it off the stack, which the child writes to before its parent goes on. */
static bool is_in_rdi(const struct cfi_place *ra)
{
	return ra->how == CFI_REGISTER && ra->reg == CFI_RDI;
}

static bool is_cfa(const struct cfi_place *rsp)
{
	return rsp->how == CFI_UNSPECIFIED || (rsp->how == CFI_VAL_OFFSET && rsp->offset == 0);
}

/*
 * Information may call another address of the frame CFA, and say where the return address and the
 * caller's rsp are from there (GHC's StgRun). *ret: how far the usual CFA is above that.
 */
static bool find_usual_cfa(const struct cfi_state *state, int64_t offset, int64_t *ret)
{
	struct simple rsp;

	if (state->ra.how != CFI_OFFSET || state->ra.offset != (int32_t)state->ra.offset)
		return false;
	*ret = state->ra.offset + WORD_BYTES;
	if (*ret == 0)
		return true;
	return state->rsp.how == CFI_VAL_EXPRESSION && read_simple(&state->rsp, &rsp) &&
	       state->cfa.how == CFI_OFFSET && state->cfa.reg == CFI_RSP && rsp.reg == CFI_RSP &&
	       !rsp.is_deref && rsp.offset == offset + *ret;
}

/* Where the caller's rbx is. */
static uint8_t rbx_of(const struct cfi_place *rbx)
{
	int64_t words = -rbx->offset / WORD_BYTES;

	if (rbx->how == CFI_UNSPECIFIED || rbx->how == CFI_SAME)
		return ABI_UNWIND_RBX_SAME;
	if (rbx->how != CFI_OFFSET || rbx->offset % WORD_BYTES || words <= ABI_UNWIND_RBX_SAME ||
	    words > ABI_UNWIND_RBX_MOST)
		return ABI_UNWIND_RBX_UNKNOWN;
	return (uint8_t)words;
}

struct abi_unwind_rule cfi_rule(const struct cfi_cie *cie, const struct cfi_state *state,
				bool with_rbx, uint32_t lost[CFI_LOSSES])
{
	struct abi_unwind_rule rule = { 0 };
	int64_t offset, further = 0;
	int why;

	if (cie->ra_register != CFI_RIP)
		return lose(lost, CFI_RETURN_ADDRESSES);
	if (state->ra.how == CFI_UNDEFINED)
		return (struct abi_unwind_rule){ .kind = ABI_UNWIND_END };
	if (is_signal(state, &offset)) {
		rule.kind = ABI_UNWIND_SIGNAL;
		rule.offset = (int32_t)offset;
		return rule.offset == offset ? rule : lose(lost, CFI_OFFSETS);
	}
	why = set_cfa(&state->cfa, &rule, &offset);
	if (why)
		return lose(lost, (enum cfi_loss)why);
	if (offset != (int32_t)offset)
		return lose(lost, CFI_OFFSETS);
	if (is_in_rdi(&state->ra) && rule.kind == ABI_UNWIND_SP)
		rule.kind = ABI_UNWIND_RA_IN_RDI;
	else if (!find_usual_cfa(state, offset, &further))
		return lose(lost, CFI_RETURN_ADDRESSES);
	if (further == 0 && !is_cfa(&state->rsp))
		return lose(lost, CFI_STACK_POINTERS);
	offset += further;
	rule.offset = (int32_t)offset;
	if (rule.offset != offset)
		return lose(lost, CFI_OFFSETS);
	why = set_bp(&state->rbp, -further, &rule);
	rule.rbx = with_rbx && further == 0 ? rbx_of(&state->rbx) : ABI_UNWIND_RBX_UNKNOWN;
	if (why == 0 && rule.kind == ABI_UNWIND_RA_IN_RDI && rule.bp != ABI_UNWIND_BP_SAME)
		why = CFI_FRAME_POINTERS;
	return why ? lose(lost, (enum cfi_loss)why) : rule;
}
