/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules of code that GHC has made, which has no information, by what StgRun keeps on the stack. */
#include "cfi_section.h"
#include "elf/cfi/cfi_pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CODE_AT 0x40 /* behind StgRun, relative to START */
#define RESERVED 0x4000

/* sub $0x30,%rsp; mov %rsp,%rax; sub $0x4000,%rsp; mov %rbx,(%rax); mov %rbp,8(%rax) */
static const uint8_t stg_run[] = { 0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec, 0,
				   0x40, 0,    0,    0x48, 0x89, 0x18, 0x48, 0x89, 0x68, 0x08 };

/*
 * 0 jmp *(%rbp); 3 sub $8,%rsp; 7 call *%rax; 9 add $8,%rsp;
 * 13 sub $8,%rsp; 17 push %rax; 18 call *%rax; 20 add $16,%rsp; 24 call *%rax; 26 jmp *(%rbp)
 */
static const uint8_t haskell[] = { 0xff, 0x65, 0,    0x48, 0x83, 0xec, 0x08, 0xff, 0xd0, 0x48,
				   0x83, 0xc4, 0x08, 0x48, 0x83, 0xec, 0x08, 0x50, 0xff, 0xd0,
				   0x48, 0x83, 0xc4, 0x10, 0xff, 0xd0, 0xff, 0x65, 0 };

static struct cfi_rows *rows_of(const uint8_t *code)
{
	const struct cfi_bytes text = { code, TEXT_LEN, TEXT };
	struct section s = usual_section();
	struct cfi_input in = { .text = &text, .n_text = 1, .base = TEXT };

	put_fde(&s, START, sizeof(stg_run), NULL, 0);
	in.eh_frame = (struct cfi_bytes){ s.bytes, s.len, SECTION };
	return compile(&in);
}

static void c_s_stack_is_where_stg_run_has_left_it(void **state)
{
	static const struct {
		uint32_t at;
		int32_t pushed;
	} wanted[] = { { 0, 0 },   { 3, 0 },   { 7, 8 },  { 8, 8 },  { 9, 0 },
		       { 18, 16 }, { 19, 16 }, { 20, 0 }, { 25, 0 }, { 26, 0 } };
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	uint8_t code[TEXT_LEN];
	(void)state;

	memset(code, 0xcc, sizeof(code));
	memcpy(code + START, stg_run, sizeof(stg_run));
	memcpy(code + START + CODE_AT, haskell, sizeof(haskell));
	rows = rows_of(code);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct abi_unwind_rule *rule =
			cfi_rule_at(rows, START + CODE_AT + wanted[i].at);

		if (rule->kind != ABI_UNWIND_SP || rule->bp != ABI_UNWIND_BP_AT_CFA ||
		    rule->offset != RESERVED + 0x38 + wanted[i].pushed || rule->bp_offset != -0x30)
			fail_msg("at %u: kind %d, offset %d, bp %d", wanted[i].at, rule->kind,
				 rule->offset, rule->bp_offset);
	}
}

static void without_stg_run_nothing_is_known(void **state)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	uint8_t code[TEXT_LEN];
	(void)state;

	memset(code, 0xcc, sizeof(code));
	memcpy(code + START, stg_run, sizeof(stg_run));
	code[START + sizeof(stg_run) - 1] = 0x10; /* mov %rbp,16(%rax) */
	memcpy(code + START + CODE_AT, haskell, sizeof(haskell));
	rows = rows_of(code);
	assert_int_equal(cfi_rule_at(rows, START + CODE_AT)->kind, ABI_UNWIND_NONE);
	assert_int_equal(cfi_rule_at(rows, START + CODE_AT + 8)->kind, ABI_UNWIND_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_s_stack_is_where_stg_run_has_left_it),
		cmocka_unit_test(without_stg_run_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
