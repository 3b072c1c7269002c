/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi.h"

#include "cfi_section.h"

#include <dwarf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MAX_ROWS 8

struct program_case {
	const char *what;
	const uint8_t *program;
	size_t len;
	struct wanted rows[MAX_ROWS]; /* up to the one of none behind the function */
	uint32_t damaged;
	size_t n_other_losses;
};

static void run_cases(const struct program_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct section s = usual_section();
		struct cfi_input in;
		size_t n_wanted = 0, lost = 0;

		put_fde(&s, START, LEN, cases[i].program, cases[i].len);
		in = input_of(&s);
		rows = compile(&in);
		while (n_wanted < MAX_ROWS && cases[i].rows[n_wanted].pc < START + LEN &&
		       cases[i].rows[n_wanted].pc)
			n_wanted++;
		assert_rows(rows, cases[i].rows, n_wanted + 1, cases[i].what);
		assert_int_equal(rows->lost[CFI_DAMAGED_ENTRIES], cases[i].damaged);
		for (int why = CFI_DAMAGED_ENTRIES + 1; why < CFI_LOSSES; why++)
			lost += rows->lost[why];
		if (lost != cases[i].n_other_losses)
			fail_msg("%s: %zu losses", cases[i].what, lost);
	}
}

#define BEHIND                                                                                     \
	{                                                                                          \
		START + LEN, NONE                                                                  \
	}

/* Each changes the row at START + 1, or shows that it did not. */
static const struct program_case instructions[] = {
	{ "none", BYTES(DW_CFA_nop, DW_CFA_nop), { { START, SP(8) }, BEHIND }, 0, 0 },
	{ "advance_loc and def_cfa_offset",
	  BYTES(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16),
	  { { START, SP(8) }, { START + 1, SP(16) }, BEHIND },
	  0,
	  0 },
	{ "advance_loc1",
	  BYTES(DW_CFA_advance_loc1, 5, DW_CFA_def_cfa_offset, 16),
	  { { START, SP(8) }, { START + 5, SP(16) }, BEHIND },
	  0,
	  0 },
	{ "advance_loc2",
	  BYTES(DW_CFA_advance_loc2, 6, 0, DW_CFA_def_cfa_offset, 16),
	  { { START, SP(8) }, { START + 6, SP(16) }, BEHIND },
	  0,
	  0 },
	{ "advance_loc4",
	  BYTES(DW_CFA_advance_loc4, 7, 0, 0, 0, DW_CFA_def_cfa_offset, 16),
	  { { START, SP(8) }, { START + 7, SP(16) }, BEHIND },
	  0,
	  0 },
	{ "MIPS_advance_loc8",
	  BYTES(DW_CFA_MIPS_advance_loc8, 8, 0, 0, 0, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 16),
	  { { START, SP(8) }, { START + 8, SP(16) }, BEHIND },
	  0,
	  0 },
	{ "no advance: the later one holds",
	  BYTES(DW_CFA_advance_loc, DW_CFA_def_cfa_offset, 16),
	  { { START, SP(16) }, BEHIND },
	  0,
	  0 },
	{ "an advance without a change",
	  BYTES(DW_CFA_advance_loc | 1, DW_CFA_advance_loc | 1),
	  { { START, SP(8) }, BEHIND },
	  0,
	  0 },
	{ "an advance to the end and past it",
	  BYTES(DW_CFA_advance_loc1, LEN, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc1, LEN),
	  { { START, SP(8) }, BEHIND },
	  0,
	  0 },
	{ "def_cfa", BYTES(DW_CFA_def_cfa, 6, 16), { { START, BP(16) }, BEHIND }, 0, 0 },
	{ "def_cfa_sf", BYTES(DW_CFA_def_cfa_sf, 6, 0x7e), { { START, BP(16) }, BEHIND }, 0, 0 },
	{ "def_cfa_register",
	  BYTES(DW_CFA_def_cfa_register, 6),
	  { { START, BP(8) }, BEHIND },
	  0,
	  0 },
	{ "def_cfa_offset_sf",
	  BYTES(DW_CFA_def_cfa_offset_sf, 0x7d),
	  { { START, SP(24) }, BEHIND },
	  0,
	  0 },
	{ "offset", BYTES(DW_CFA_offset | 6, 2), { { START, SP_BP(8, -16) }, BEHIND }, 0, 0 },
	{ "offset_extended",
	  BYTES(DW_CFA_offset_extended, 6, 3),
	  { { START, SP_BP(8, -24) }, BEHIND },
	  0,
	  0 },
	{ "offset_extended_sf",
	  BYTES(DW_CFA_offset_extended_sf, 6, 0x7f),
	  { { START, SP_BP(8, 8) }, BEHIND },
	  0,
	  0 },
	{ "GNU_negative_offset_extended",
	  BYTES(0x2f, 6, 2),
	  { { START, SP_BP(8, 16) }, BEHIND },
	  0,
	  0 },
	{ "same_value, undefined and in itself",
	  BYTES(DW_CFA_offset | 6, 2, DW_CFA_same_value, 6, DW_CFA_advance_loc | 1,
		DW_CFA_undefined, 6, DW_CFA_advance_loc | 1, DW_CFA_register, 6, 6),
	  { { START, SP(8) }, BEHIND },
	  0,
	  0 },
	{ "restore and restore_extended",
	  BYTES(DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 1, DW_CFA_restore | 6,
		DW_CFA_advance_loc | 1, DW_CFA_offset | 6, 3, DW_CFA_advance_loc | 1,
		DW_CFA_restore_extended, 6),
	  { { START, SP_BP(8, -16) },
	    { START + 1, SP(8) },
	    { START + 2, SP_BP(8, -24) },
	    { START + 3, SP(8) },
	    BEHIND },
	  0,
	  0 },
	{ "remember_state and restore_state, of the CFA too",
	  BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_remember_state, DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 1,
		DW_CFA_restore_state),
	  { { START, SP(16) },
	    { START + 1,
	      { .kind = ABI_UNWIND_BP,
		.offset = 16,
		.bp = ABI_UNWIND_BP_AT_CFA,
		.bp_offset = -16 } },
	    { START + 2, SP(16) },
	    BEHIND },
	  0,
	  0 },
	{ "GNU_args_size", BYTES(0x2e, 0x90, 1), { { START, SP(8) }, BEHIND }, 0, 0 },
	{ "other registers",
	  BYTES(DW_CFA_offset | 3, 4, DW_CFA_undefined, 17, DW_CFA_register, 3, 5,
		DW_CFA_restore | 3, DW_CFA_val_offset, 12, 1, DW_CFA_expression, 3, 1, DW_OP_lit0),
	  { { START, SP(8) }, BEHIND },
	  0,
	  0 },
	{ "undefined return address",
	  BYTES(DW_CFA_undefined, 16),
	  { { START, END }, BEHIND },
	  0,
	  0 },
	{ "the caller's rsp is the CFA, said so",
	  BYTES(DW_CFA_val_offset, 7, 0),
	  { { START, SP(8) }, BEHIND },
	  0,
	  0 },
};

static void instructions_mean_what_dwarf_says(void **state)
{
	(void)state;
	run_cases(instructions, sizeof(instructions) / sizeof(instructions[0]));
}

#define PLT_EXPRESSION(threshold)                                                                  \
	DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,    \
		(threshold), DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus
#define PLT(n)                                                                                     \
	{                                                                                          \
		.kind = ABI_UNWIND_PLT, .offset = 8, .bp_offset = (n)                              \
	}
/* rbp, rsp, rip of a struct sigcontext at rsp + 40 */
#define SIGNAL_REGISTERS(rip_low)                                                                  \
	DW_CFA_expression, 6, 3, DW_OP_breg7, 0xf8, 0, DW_CFA_expression, 7, 3, DW_OP_breg7, 0xa0, \
		1, DW_CFA_expression, 16, 3, DW_OP_breg7, (rip_low), 1

static const struct program_case expressions[] = {
	{ "PLT, lit11", BYTES(PLT_EXPRESSION(DW_OP_lit11)), { { START, PLT(11) }, BEHIND }, 0, 0 },
	{ "PLT, lit10", BYTES(PLT_EXPRESSION(DW_OP_lit10)), { { START, PLT(10) }, BEHIND }, 0, 0 },
	{ "PLT, lit9", BYTES(PLT_EXPRESSION(DW_OP_lit9)), { { START, PLT(9) }, BEHIND }, 0, 0 },
	{ "PLT, a threshold of no entry",
	  BYTES(PLT_EXPRESSION(DW_OP_lit16)),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "PLT with rbp saved",
	  BYTES(PLT_EXPRESSION(DW_OP_lit11), DW_CFA_offset | 6, 2),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "a realigned frame",
	  BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref, DW_CFA_expression, 6,
		2, DW_OP_breg6, 0),
	  { { START,
	      { .kind = ABI_UNWIND_BP_DEREF,
		.offset = ABI_UNWIND_DEREF(-8, 0),
		.bp = ABI_UNWIND_BP_AT_BP,
		.bp_offset = 0 } },
	    BEHIND },
	  0,
	  0 },
	{ "CFA = rsp + 8 + 16",
	  BYTES(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 8, DW_OP_plus_uconst, 16),
	  { { START, SP(24) }, BEHIND },
	  0,
	  0 },
	{ "rbp at rsp + 4, of CFA = rsp + 8",
	  BYTES(DW_CFA_expression, 6, 2, DW_OP_breg7, 4),
	  { { START, SP_BP(8, -4) }, BEHIND },
	  0,
	  0 },
	{ "rbp at rbp + 4",
	  BYTES(DW_CFA_expression, 6, 2, DW_OP_breg6, 4),
	  { { START, SP_BP_BY(8, ABI_UNWIND_BP_AT_BP, 4) }, BEHIND },
	  0,
	  0 },
	{ "a signal frame",
	  BYTES(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 1, DW_OP_deref,
		SIGNAL_REGISTERS(0xa8)),
	  { { START, { .kind = ABI_UNWIND_SIGNAL, .offset = 40 } }, BEHIND },
	  0,
	  0 },
	{ "a signal frame with rip elsewhere",
	  BYTES(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 1, DW_OP_deref,
		SIGNAL_REGISTERS(0xb0)),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "CFA = *(rsp + 8)",
	  BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg7, 8, DW_OP_deref),
	  { { START, { .kind = ABI_UNWIND_SP_DEREF, .offset = ABI_UNWIND_DEREF(8, 0) } }, BEHIND },
	  0,
	  0 },
	{ "CFA = *(rsp + 40) + 8, rbp at CFA - 24: OpenSSL's assembly",
	  BYTES(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 40, DW_OP_deref, DW_OP_plus_uconst, 8,
		DW_CFA_offset | 6, 3),
	  { { START,
	      { .kind = ABI_UNWIND_SP_DEREF,
		.offset = ABI_UNWIND_DEREF(40, 8),
		.bp = ABI_UNWIND_BP_AT_CFA,
		.bp_offset = -24 } },
	    BEHIND },
	  0,
	  0 },
	{ "CFA = *rbp + 16, rbp at CFA - 16: SBCL's call_into_lisp",
	  BYTES(DW_CFA_def_cfa_expression, 5, DW_OP_breg6, 0, DW_OP_deref, DW_OP_lit16, DW_OP_plus,
		DW_CFA_offset | 6, 2),
	  { { START,
	      { .kind = ABI_UNWIND_BP_DEREF,
		.offset = ABI_UNWIND_DEREF(0, 16),
		.bp = ABI_UNWIND_BP_AT_CFA,
		.bp_offset = -16 } },
	    BEHIND },
	  0,
	  0 },
	{ "CFA = *(rsp + 32768)",
	  BYTES(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 0x80, 0x80, 2, DW_OP_deref),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "CFA = *rsp * 1",
	  BYTES(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 0, DW_OP_deref, DW_OP_lit1, DW_OP_mul),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "CFA = **(rbp + 8)",
	  BYTES(DW_CFA_def_cfa_expression, 4, DW_OP_breg6, 8, DW_OP_deref, DW_OP_deref),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "CFA by an empty expression",
	  BYTES(DW_CFA_def_cfa_expression, 0),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "CFA from rbx, which is at CFA - 24",
	  BYTES(DW_CFA_offset | 3, 3, DW_CFA_advance_loc | 1, DW_CFA_def_cfa, 3, 24),
	  { { START, { .kind = ABI_UNWIND_SP, .offset = 8, .rbx = 3 } },
	    { START + 1, { .kind = ABI_UNWIND_RBX, .offset = 24, .rbx = 3 } },
	    BEHIND },
	  0,
	  0 },
	{ "CFA from rbx, which is as it was, then elsewhere",
	  BYTES(DW_CFA_def_cfa, 3, 24, DW_CFA_advance_loc | 1, DW_CFA_register, 3, 12),
	  { { START, { .kind = ABI_UNWIND_RBX, .offset = 24, .rbx = ABI_UNWIND_RBX_SAME } },
	    { START + 1, { .kind = ABI_UNWIND_RBX, .offset = 24 } },
	    BEHIND },
	  0,
	  0 },
	{ "CFA = *(rbx + 8)",
	  BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg3, 8, DW_OP_deref),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "CFA from r10", BYTES(DW_CFA_def_cfa, 10, 0), { { START, UNSUPPORTED }, BEHIND }, 0, 1 },
	{ "return address in rdi",
	  BYTES(DW_CFA_register, 16, 5, DW_CFA_def_cfa_offset, 0),
	  { { START, { .kind = ABI_UNWIND_RA_IN_RDI } }, BEHIND },
	  0,
	  0 },
	{ "return address in rdi, CFA = rbp + 8",
	  BYTES(DW_CFA_register, 16, 5, DW_CFA_def_cfa, 6, 8),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "return address in rdi, rbp at CFA - 16",
	  BYTES(DW_CFA_register, 16, 5, DW_CFA_offset | 6, 2),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "return address in rdx",
	  BYTES(DW_CFA_register, 16, 1),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "return address at CFA - 16",
	  BYTES(DW_CFA_offset | 16, 2),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "return address at CFA + 16, rbp at CFA + 8, rsp = rsp + 24: GHC's StgRun",
	  BYTES(DW_CFA_def_cfa_offset, 0, DW_CFA_offset_extended_sf, 6, 0x7f,
		DW_CFA_offset_extended_sf, 16, 0x7e, DW_CFA_val_expression, 7, 2, DW_OP_breg7, 24),
	  { { START, SP_BP(24, -16) }, BEHIND },
	  0,
	  0 },
	{ "return address at CFA + 16, rsp = rsp + 16",
	  BYTES(DW_CFA_def_cfa_offset, 0, DW_CFA_offset_extended_sf, 16, 0x7e,
		DW_CFA_val_expression, 7, 2, DW_OP_breg7, 16),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "rsp at CFA - 16",
	  BYTES(DW_CFA_offset | 7, 2),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "rbp = CFA - 16",
	  BYTES(DW_CFA_val_offset_sf, 6, 2),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "rbp = rsp + 8",
	  BYTES(DW_CFA_val_expression, 6, 2, DW_OP_breg7, 8),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "rbp in rbx", BYTES(DW_CFA_register, 6, 3), { { START, UNSUPPORTED }, BEHIND }, 0, 1 },
	{ "CFA = rsp + 4 GiB",
	  BYTES(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x10),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
	{ "rbp at CFA - 64 KiB",
	  BYTES(DW_CFA_offset | 6, 0x80, 0x40),
	  { { START, UNSUPPORTED }, BEHIND },
	  0,
	  1 },
};

static void expressions_are_recognised_or_counted(void **state)
{
	(void)state;
	run_cases(expressions, sizeof(expressions) / sizeof(expressions[0]));
}

#define DAMAGED { { START, UNSUPPORTED }, BEHIND }, 1, 0

static const struct program_case malformed[] = {
	{ "an unknown instruction", BYTES(0x3f), DAMAGED },
	{ "damage behind something sound",
	  BYTES(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc | 1, 0x3f),
	  DAMAGED },
	{ "no operand", BYTES(DW_CFA_def_cfa_offset), DAMAGED },
	{ "half an operand", BYTES(DW_CFA_advance_loc4, 1, 2), DAMAGED },
	{ "LEB128 without an end", BYTES(DW_CFA_def_cfa_offset, 0x80, 0x80), DAMAGED },
	{ "LEB128 of more than 64 bits",
	  BYTES(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 1),
	  DAMAGED },
	{ "restore_state of nothing", BYTES(DW_CFA_restore_state), DAMAGED },
	{ "17 remembered states",
	  BYTES(DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state),
	  DAMAGED },
	{ "an expression past the end", BYTES(DW_CFA_def_cfa_expression, 9, DW_OP_breg7), DAMAGED },
	{ "an offset where there is none",
	  BYTES(DW_CFA_def_cfa_expression, 0, DW_CFA_def_cfa_offset, 8), DAMAGED },
	{ "set_loc backwards", BYTES(DW_CFA_set_loc, 0, 0, 0xff, 0xff), DAMAGED },
	{ "a factored offset that overflows",
	  BYTES(DW_CFA_offset | 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), DAMAGED },
};

static void damaged_programs_say_nothing(void **state)
{
	(void)state;
	run_cases(malformed, sizeof(malformed) / sizeof(malformed[0]));
}

static void set_loc_goes_to_an_address(void **state)
{
	static const struct wanted wanted[] = { { START, SP(8) }, { START + 9, SP(16) }, BEHIND };
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	uint8_t program[] = { DW_CFA_set_loc, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 16 };
	struct section s = usual_section();
	struct cfi_input in;
	int32_t distance;

	(void)state;
	/* The operand lies behind length, CIE, two addresses, augmentation and opcode. */
	distance = (int32_t)(TEXT + START + 9 - (SECTION + s.len + 4 + 4 + 8 + 1 + 1));
	memcpy(program + 1, &distance, sizeof(distance));
	put_fde(&s, START, LEN, program, sizeof(program));
	in = input_of(&s);
	rows = compile(&in);
	assert_rows(rows, wanted, 3, "set_loc");
}

/* Cut at any byte, the section gives the rows of its whole entries, or damage. */
static void a_section_cut_short_anywhere_is_read_up_to_there(void **state)
{
	struct section s = usual_section();
	size_t cie_end = s.len, first_end, whole;

	(void)state;
	put_fde(&s, START, LEN, BYTES(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16));
	first_end = s.len;
	put_fde(&s, START + LEN, LEN, BYTES(DW_CFA_def_cfa_offset, 24));
	whole = s.len;
	for (size_t len = 0; len <= whole; len++) {
		/* Of its own, so that the sanitizer sees a read past it. */
		_cleanup_free_ uint8_t *bytes = malloc(len + 1);
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct cfi_input in = input_of(&s);

		assert_non_null(bytes);
		memcpy(bytes + 1, s.bytes, len);
		in.eh_frame.data = bytes + 1;
		in.eh_frame.len = len;
		rows = compile(&in);
		assert_int_equal(rows->n_rows, len == whole ? 5 : len >= first_end ? 4 : 1);
		if (len != whole && len != first_end && len > 0 && len != cie_end)
			assert_int_equal(rows->lost[CFI_DAMAGED_ENTRIES], 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_mean_what_dwarf_says),
		cmocka_unit_test(expressions_are_recognised_or_counted),
		cmocka_unit_test(damaged_programs_say_nothing),
		cmocka_unit_test(set_loc_goes_to_an_address),
		cmocka_unit_test(a_section_cut_short_anywhere_is_read_up_to_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
