/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules of Go's functions that change stacks, by their names and code (Go 1.19 and later ones). */
#include "cfi_section.h"
#include "elf/cfi/cfi_go.h"
#include "elf/elf_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_CODE 64
#define MAX_RULES 6

struct go_case {
	const char *what, *name;
	uint8_t code[MAX_CODE];
	uint8_t len;
	struct {
		uint32_t at;
		struct abi_unwind_rule rule;
	} rules[MAX_RULES];
};

#define DEPTH(g, depth)                                                                            \
	{                                                                                          \
		.kind = ABI_UNWIND_GO_DEPTH, .offset = ABI_UNWIND_DEREF(g, depth)                  \
	}
#define KEPT(n, then)                                                                              \
	{                                                                                          \
		.kind = ABI_UNWIND_SP_DEREF, .offset = ABI_UNWIND_DEREF(n, then)                   \
	}
#define CURRENT(kind_, tls)                                                                        \
	{                                                                                          \
		.kind = (kind_), .offset = ABI_UNWIND_GO(0x30, 0xc0, 0x38), .bp_offset = (tls)     \
	}

/* All of them: mov %fs:-8,%rax; mov 0x30(%rax),%rbx; mov 0xc0(%rbx),%rax; mov 0x38(%rax),%rsp */
#define LOAD_TLS 0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff
#define LOAD_CURG 0x48, 0x8b, 0x58, 0x30, 0x48, 0x8b, 0x83, 0xc0, 0, 0, 0
#define LOAD_SP 0x48, 0x8b, 0x60, 0x38

static const struct go_case cases[] = {
	{ "on the goroutine's stack the information is right; then it has to be found",
	  "runtime.asmcgocall.abi0",
	  /* mov %rsp,%rdx; mov 0x38(%rsi),%rsp; sub $64,%rsp; call *%rax; mov 48(%rsp),%rdi;
	   * mov 8(%rdi),%rsi; sub 40(%rsp),%rsi; mov %rsi,%rsp; ret */
	  { 0x48, 0x89, 0xe2, 0x48, 0x8b, 0x66, 0x38, 0x48, 0x83, 0xec, 0x40,
	    0xff, 0xd0, 0x48, 0x8b, 0x7c, 0x24, 0x30, 0x48, 0x8b, 0x77, 0x08,
	    0x48, 0x2b, 0x74, 0x24, 0x28, 0x48, 0x89, 0xf4, 0xc3 },
	  31,
	  { { 0, SP(8) },
	    { 3, UNSUPPORTED },
	    { 7, UNSUPPORTED },
	    { 12, DEPTH(48, 40) },
	    { 27, DEPTH(48, 40) },
	    { 30, SP(8) } } },
	{ "of later versions, position-independent",
	  "runtime.asmcgocall",
	  /* mov 0x38(%rsi),%rsp; call *%rax; mov $-8,%rcx; mov 8(%rsp),%rdi; mov 8(%rdi),%rsi;
	   * sub (%rsp),%rsi */
	  { 0x48, 0x8b, 0x66, 0x38, 0xff, 0xd0, 0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff,
	    0x48, 0x8b, 0x7c, 0x24, 0x08, 0x48, 0x8b, 0x77, 0x08, 0x48, 0x2b, 0x34, 0x24 },
	  26,
	  { { 0, UNSUPPORTED }, { 5, DEPTH(8, 0) }, { 25, DEPTH(8, 0) } } },
	{ "on the thread's stack already",
	  "runtime.asmcgocall.abi0",
	  /* and $-16,%rsp; call *%rax; mov 40(%rsp),%rsi; mov %rsi,%rsp; ret */
	  { 0x48, 0x83, 0xe4, 0xf0, 0xff, 0xd0, 0x48, 0x8b, 0x74, 0x24, 0x28, 0x48, 0x89, 0xf4,
	    0xc3 },
	  15,
	  { { 0, UNSUPPORTED }, { 5, KEPT(40, 8) }, { 14, SP(8) } } },
	{ "with a frame",
	  "runtime.callCgoMmap.abi0",
	  /* sub $24,%rsp; and $-16,%rsp; call *%rax; mov (%rsp),%rsp; add $24,%rsp; ret */
	  { 0x48, 0x83, 0xec, 0x18, 0x48, 0x83, 0xe4, 0xf0, 0xff, 0xd0, 0x48, 0x8b, 0x24, 0x24,
	    0x48, 0x83, 0xc4, 0x18, 0xc3 },
	  19,
	  { { 0, SP(8) }, { 4, UNSUPPORTED }, { 9, KEPT(0, 32) }, { 14, SP(8) } } },
	{ "the goroutine of the thread",
	  "runtime.systemstack.abi0",
	  /* mov %rbx,%rsp; call *%rdi; ...; ret */
	  { 0x48, 0x89, 0xdc, 0xff, 0xd7, LOAD_TLS, LOAD_CURG, LOAD_SP, 0xc3 },
	  30,
	  { { 0, UNSUPPORTED },
	    { 4, CURRENT(ABI_UNWIND_GO_CURRENT, -8) },
	    { 28, CURRENT(ABI_UNWIND_GO_CURRENT, -8) },
	    { 29, SP(8) } } },
	{ "code that is not known",
	  "runtime.systemstack",
	  /* mov %rbx,%rsp; call *%rdi; ret */
	  { 0x48, 0x89, 0xdc, 0xff, 0xd7, 0xc3 },
	  6,
	  { { 0, UNSUPPORTED }, { 4, UNSUPPORTED }, { 5, UNSUPPORTED } } },
	{ "whose goroutines are not known",
	  "runtime.morestack.abi0",
	  /* mov 0x38(%rbx),%rsp; call newstack */
	  { 0x48, 0x8b, 0x63, 0x38, 0xe8, 0, 0, 0, 0 },
	  9,
	  { { 0, UNSUPPORTED }, { 8, UNSUPPORTED } } },
	{ "the scheduler's stack",
	  "runtime.mcall",
	  /* mov 0x38(%r14),%rsp; push %rax; call *%r12; pop %rax */
	  { 0x49, 0x8b, 0x66, 0x38, 0x50, 0x41, 0xff, 0xd4, 0x58 },
	  9,
	  { { 0, UNSUPPORTED }, { 7, END }, { 8, END } } },
	{ "a new thread, but not its maker",
	  "runtime.clone.abi0",
	  /* syscall; ret; call *%r12; nop */
	  { 0x0f, 0x05, 0xc3, 0x41, 0xff, 0xd4, 0x90 },
	  7,
	  { { 0, SP(8) }, { 2, SP(8) }, { 5, END }, { 6, END } } },
	{ "where goroutines begin",
	  "runtime.goexit.abi0",
	  /* nop; call goexit1 */
	  { 0x90, 0xe8, 0, 0, 0, 0 },
	  6,
	  { { 0, END }, { 5, END } } },
	{ "another function", "runtime.goexit1", { 0x48, 0x89, 0xdc, 0xc3 }, 4, { { 3, SP(8) } } },
	{ "another package", "main.mcall", { 0x49, 0x8b, 0x66, 0x38 }, 4, { { 3, SP(8) } } },
};

/* A function of which all instructions are said to be as at its start. */
static struct cfi_rows *rows_of(const struct elf_symbol *symbols, size_t n, const uint8_t *code)
{
	const struct cfi_bytes text = { code, TEXT_LEN, TEXT };
	struct section s = usual_section();
	struct cfi_input in = {
		.text = &text, .n_text = 1, .base = TEXT, .symbols = symbols, .n_symbols = n
	};

	put_fde(&s, START, TEXT_LEN - START, NULL, 0);
	in.eh_frame = (struct cfi_bytes){ s.bytes, s.len, SECTION };
	return compile(&in);
}

static void assert_rule(const struct cfi_rows *rows, const char *what, uint32_t at,
			const struct abi_unwind_rule *want)
{
	const struct abi_unwind_rule *rule = cfi_rule_at(rows, START + at);

	if (rule->kind != want->kind || rule->offset != want->offset ||
	    rule->bp_offset != want->bp_offset)
		fail_msg("%s, at %u: kind %d, offset %#x, bp %d", what, at, rule->kind,
			 (unsigned)rule->offset, rule->bp_offset);
}

static void each_function_is_known_from_where_it_changes_stacks(void **state)
{
	uint8_t code[TEXT_LEN];
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		const struct elf_symbol symbol = { .name = cases[i].name,
						   .value = TEXT + START,
						   .size = cases[i].len };

		memset(code, 0xcc, sizeof(code));
		memcpy(code + START, cases[i].code, cases[i].len);
		rows = rows_of(&symbol, 1, code);
		for (size_t k = 0; k < MAX_RULES && (k == 0 || cases[i].rules[k].at); k++)
			assert_rule(rows, cases[i].what, cases[i].rules[k].at,
				    &cases[i].rules[k].rule);
	}
}

static void what_is_known_of_goroutines_holds_for_morestack(void **state)
{
	static const uint8_t bytes[] = { 0x48, 0x89, 0xdc, 0xff, 0xd7, LOAD_TLS, LOAD_CURG, LOAD_SP,
					 /* morestack, at 29 */
					 0x48, 0x8b, 0x63, 0x38, 0xe8, 0, 0, 0, 0 };
	const struct elf_symbol symbols[] = {
		{ .name = "runtime.systemstack.abi0", .value = TEXT + START, .size = 29 },
		{ .name = "runtime.morestack.abi0", .value = TEXT + START + 29, .size = 9 },
	};
	const struct abi_unwind_rule resumed = CURRENT(ABI_UNWIND_GO_RESUMED, -8);
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	uint8_t code[TEXT_LEN];
	(void)state;

	memset(code, 0xcc, sizeof(code));
	memcpy(code + START, bytes, sizeof(bytes));
	rows = rows_of(symbols, 2, code);
	assert_rule(rows, "behind newstack", 37, &resumed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_function_is_known_from_where_it_changes_stacks),
		cmocka_unit_test(what_is_known_of_goroutines_holds_for_morestack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
