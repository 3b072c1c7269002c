/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF 5, chapter 6.4.2: call frame instructions; GCC's and the MIPS ABI's beside them. */
#include "elf/cfi/cfi_program.h"

#include <dwarf.h>
#include <errno.h>

#define OPERAND_MASK 0x3f
/* States that are remembered at the same time: compilers nest them twice. */
#define MAX_REMEMBERED 16

/* Whether the return address is signed has changed; on another machine the number is another's. */
#define CFA_AARCH64_NEGATE_RA_STATE 0x2d
#define CFA_GNU_ARGS_SIZE 0x2e
#define CFA_GNU_NEGATIVE_OFFSET_EXTENDED 0x2f

struct machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	const struct cfi_state *initial; /* NULL while a CIE runs */
	struct cfi_reader r;
	struct cfi_state state;
	struct cfi_state remembered[MAX_REMEMBERED];
	unsigned n_remembered;
	uint64_t pc, end;
	cfi_emit_fn *emit;
	void *ctx;
};

static struct cfi_place *place_of(struct cfi_state *state, const struct cfi_cie *cie, uint64_t reg)
{
	if (reg == cie->ra_register)
		return &state->ra;
	switch (reg) {
	case CFI_RBX:
		return &state->rbx;
	case CFI_RBP:
		return &state->rbp;
	case CFI_RSP:
		return &state->rsp;
	default:
		return NULL;
	}
}

static void set_place(struct machine *m, uint64_t reg, struct cfi_place place)
{
	struct cfi_place *p = place_of(&m->state, m->cie, reg);

	if (p)
		*p = place;
}

static void set_offset(struct machine *m, uint64_t reg, enum cfi_how how, int64_t factored)
{
	struct cfi_place place = { .how = how };

	if (__builtin_mul_overflow(factored, m->cie->data_align, &place.offset))
		cfi_fail(&m->r);
	set_place(m, reg, place);
}

static void set_expression(struct machine *m, struct cfi_place *place, enum cfi_how how)
{
	struct cfi_reader block = cfi_get_block(&m->r, cfi_get_uleb(&m->r));

	if (place)
		*place = (struct cfi_place){ .how = how,
					     .expression = block.at,
					     .expression_len = cfi_left(&block) };
}

static void restore_register(struct machine *m, uint64_t reg)
{
	struct cfi_state initial;
	struct cfi_place *place;

	if (!m->initial) {
		cfi_fail(&m->r);
		return;
	}
	initial = *m->initial;
	place = place_of(&initial, m->cie, reg);
	if (place)
		set_place(m, reg, *place);
}

/* The state so far holds up to `pc`. 0, or an error; > 0: the rest is about no code of the FDE. */
static int go_to(struct machine *m, uint64_t pc)
{
	int r;

	if (m->r.failed || pc < m->pc || !m->initial)
		return -EBADMSG;
	if (pc == m->pc)
		return 0;
	r = m->emit(m->ctx, m->pc, &m->state);
	m->pc = pc;
	if (r == 0 && pc >= m->end)
		r = 1;
	return r;
}

static int advance(struct machine *m, uint64_t factored)
{
	uint64_t delta, pc;

	if (__builtin_mul_overflow(factored, m->cie->code_align, &delta) ||
	    __builtin_add_overflow(m->pc, delta, &pc))
		return -EBADMSG;
	return go_to(m, pc);
}

static int step_cfa(struct machine *m, uint8_t op)
{
	struct cfi_place *cfa = &m->state.cfa;
	uint64_t reg = cfa->reg;
	int64_t offset = cfa->offset;

	if (op == DW_CFA_def_cfa_expression) {
		set_expression(m, cfa, CFI_EXPRESSION);
		return 0;
	}
	if (op == DW_CFA_def_cfa || op == DW_CFA_def_cfa_sf)
		reg = cfi_get_uleb(&m->r);
	else if (cfa->how != CFI_OFFSET)
		return -EBADMSG; /* half of something that is not there */
	if (op == DW_CFA_def_cfa_register)
		reg = cfi_get_uleb(&m->r);
	else if (op == DW_CFA_def_cfa || op == DW_CFA_def_cfa_offset)
		offset = (int64_t)cfi_get_uleb(&m->r);
	else if (__builtin_mul_overflow(cfi_get_sleb(&m->r), m->cie->data_align, &offset))
		return -EBADMSG;
	*cfa = (struct cfi_place){ .how = CFI_OFFSET, .reg = reg, .offset = offset };
	return 0;
}

static int step_stack(struct machine *m, uint8_t op)
{
	if (op == DW_CFA_remember_state) {
		if (m->n_remembered == MAX_REMEMBERED)
			return -EBADMSG;
		m->remembered[m->n_remembered++] = m->state;
	} else {
		if (m->n_remembered == 0)
			return -EBADMSG;
		m->state = m->remembered[--m->n_remembered];
	}
	return 0;
}

/* Instructions whose first operand is a register. */
static int step_register(struct machine *m, uint8_t op)
{
	uint64_t reg = cfi_get_uleb(&m->r);
	struct cfi_place place = { 0 };

	switch (op) {
	case DW_CFA_offset_extended:
		set_offset(m, reg, CFI_OFFSET, (int64_t)cfi_get_uleb(&m->r));
		return 0;
	case DW_CFA_offset_extended_sf:
		set_offset(m, reg, CFI_OFFSET, cfi_get_sleb(&m->r));
		return 0;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_offset(m, reg, CFI_OFFSET, (int64_t)-cfi_get_uleb(&m->r));
		return 0;
	case DW_CFA_val_offset:
		set_offset(m, reg, CFI_VAL_OFFSET, (int64_t)cfi_get_uleb(&m->r));
		return 0;
	case DW_CFA_val_offset_sf:
		set_offset(m, reg, CFI_VAL_OFFSET, cfi_get_sleb(&m->r));
		return 0;
	case DW_CFA_restore_extended:
		restore_register(m, reg);
		return 0;
	case DW_CFA_undefined:
	case DW_CFA_same_value:
		place.how = op == DW_CFA_undefined ? CFI_UNDEFINED : CFI_SAME;
		set_place(m, reg, place);
		return 0;
	case DW_CFA_register:
		place.how = CFI_REGISTER;
		place.reg = cfi_get_uleb(&m->r);
		set_place(m, reg, place);
		return 0;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		set_expression(m, place_of(&m->state, m->cie, reg),
			       op == DW_CFA_expression ? CFI_EXPRESSION : CFI_VAL_EXPRESSION);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int step_extended(struct machine *m, uint8_t op)
{
	uint64_t pc;

	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_set_loc:
		pc = cfi_get_pointer(m->section, &m->r, m->cie->pointer_encoding);
		return go_to(m, pc);
	case DW_CFA_advance_loc1:
		return advance(m, cfi_get(&m->r, 1));
	case DW_CFA_advance_loc2:
		return advance(m, cfi_get(&m->r, 2));
	case DW_CFA_advance_loc4:
		return advance(m, cfi_get(&m->r, 4));
	case DW_CFA_MIPS_advance_loc8:
		return advance(m, cfi_get(&m->r, 8));
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		return step_stack(m, op);
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return step_cfa(m, op);
	case CFA_AARCH64_NEGATE_RA_STATE:
		return m->cie->ra_register == CFI_X30 ? 0 : -EBADMSG;
	case CFA_GNU_ARGS_SIZE:
		(void)cfi_get_uleb(&m->r); /* of pushed arguments: matters to landing pads only */
		return 0;
	default:
		return step_register(m, op);
	}
}

static int run_instruction(struct machine *m)
{
	uint8_t op = cfi_get_u8(&m->r), operand = op & OPERAND_MASK;

	switch (op & ~OPERAND_MASK) {
	case DW_CFA_advance_loc:
		return advance(m, operand);
	case DW_CFA_offset:
		set_offset(m, operand, CFI_OFFSET, (int64_t)cfi_get_uleb(&m->r));
		return 0;
	case DW_CFA_restore:
		restore_register(m, operand);
		return 0;
	default:
		return step_extended(m, op);
	}
}

static int run_program(struct machine *m)
{
	int r = 0;

	while (r == 0 && cfi_left(&m->r)) {
		r = run_instruction(m);
		if (r == 0 && m->r.failed)
			r = -EBADMSG;
	}
	return r;
}

int cfi_run_cie(const struct cfi_section *section, const struct cfi_cie *cie,
		struct cfi_state *ret_state)
{
	struct machine m = { .section = section, .cie = cie, .r = cie->program };
	int r = run_program(&m);

	if (r == 0)
		*ret_state = m.state;
	return r;
}

int cfi_run_fde(const struct cfi_section *section, const struct cfi_cie *cie,
		const struct cfi_state *initial, const struct cfi_fde *fde, cfi_emit_fn *emit,
		void *ctx)
{
	struct machine m;
	int r;

	/* Not by an initialiser: that would clear the remembered states each time. */
	m.section = section;
	m.cie = cie;
	m.initial = initial;
	m.r = fde->program;
	m.state = *initial;
	m.n_remembered = 0;
	m.pc = fde->start;
	m.end = fde->end;
	m.emit = emit;
	m.ctx = ctx;
	r = run_program(&m);
	if (r == 0)
		r = emit(ctx, m.pc, &m.state);
	return r > 0 ? 0 : r;
}
