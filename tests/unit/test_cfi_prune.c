/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi.h"

#include "build_object.h"
#include "cfi_section.h"
#include "elf/cfi/cfi_file.h"
#include "elf/elf_file.h"
#include "skip_because.h"

#include <capstone/capstone.h>
#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CODE (START + 0x10) /* where an instruction is put, among rows of one byte */

/* A row for each byte of the function, no two alike. */
static struct cfi_rows *rows_of_bytes(void)
{
	struct section s = usual_section();
	uint8_t program[LEN * 3];
	struct cfi_input in;

	for (uint8_t i = 0; i < LEN; i++)
		memcpy(program + i * 3,
		       BYTES(DW_CFA_def_cfa_offset, (uint8_t)(i + 8), DW_CFA_advance_loc | 1));
	put_fde(&s, START, LEN, program, sizeof(program));
	in = input_of(&s);
	return compile(&in);
}

/* Prunes with a text of filling and these bytes at CODE. */
static struct cfi_rows *prune_with(const struct cfi_rows *full, const uint8_t *bytes, size_t len)
{
	struct cfi_rows *pruned = NULL;
	uint8_t code[TEXT_LEN];
	struct cfi_bytes text = { code, sizeof(code), TEXT };

	memset(code, 0x90, sizeof(code));
	memcpy(code + CODE, bytes, len);
	assert_int_equal(cfi_prune(full, &text, 1, TEXT, &pruned), 0);
	assert_true(pruned->pruned);
	return pruned;
}

static bool is_right_at(const struct cfi_rows *full, const struct cfi_rows *pruned, uint32_t rel)
{
	return memcmp(cfi_rule_at(full, rel), cfi_rule_at(pruned, rel),
		      sizeof(struct abi_unwind_rule)) == 0;
}

static void each_form_of_a_call_keeps_its_rows(void **state)
{
	const struct {
		const char *what;
		const uint8_t *bytes;
		size_t len;
		bool is_call;
	} cases[] = {
		{ "call rel32", BYTES(0xe8, 0, 0, 0, 0), true },
		{ "call rel32 backwards", BYTES(0xe8, 0xf0, 0xff, 0xff, 0xff), true },
		{ "call rel32 out of the code", BYTES(0xe8, 0, 0, 1, 0), false },
		{ "call of the TLS sequence", BYTES(0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0), true },
		{ "call *%rax", BYTES(0xff, 0xd0), true },
		{ "call *%r11", BYTES(0x41, 0xff, 0xd3), true },
		{ "notrack call *%rax", BYTES(0x3e, 0xff, 0xd0), true },
		{ "call *(%rax)", BYTES(0xff, 0x10), true },
		{ "call *8(%rax)", BYTES(0xff, 0x50, 8), true },
		{ "call *0x100(%rax)", BYTES(0xff, 0x90, 0, 1, 0, 0), true },
		{ "call *x(%rip)", BYTES(0xff, 0x15, 1, 2, 3, 4), true },
		{ "call *(%rsp)", BYTES(0xff, 0x14, 0x24), true },
		{ "call *8(%rsp)", BYTES(0xff, 0x54, 0x24, 8), true },
		{ "call *0x100(%rsp,%rax,8)", BYTES(0xff, 0x94, 0xc4, 0, 1, 0, 0), true },
		{ "call *x(,%rax,8)", BYTES(0xff, 0x14, 0xc5, 1, 2, 3, 4), true },
		{ "call *(%r13,%rax,8)", BYTES(0x41, 0xff, 0x54, 0xc5, 0), true },
		{ "call *%fs:0x10", BYTES(0x64, 0xff, 0x14, 0x25, 0x10, 0, 0, 0), true },
		{ "syscall", BYTES(0x0f, 0x05), true },
		{ "jmp *%rax", BYTES(0xff, 0xe0), false },
		{ "push (%rax)", BYTES(0xff, 0x30), false },
		{ "ret", BYTES(0xc3), false },
		{ "ud2", BYTES(0x0f, 0x0b), false },
	};
	_cleanup_(cfi_rows_free_p) struct cfi_rows *full = rows_of_bytes();

	(void)state;
	assert_int_equal(full->n_rows, LEN + 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *pruned =
			prune_with(full, cases[i].bytes, cases[i].len);
		uint32_t next = CODE + (uint32_t)cases[i].len;

		/* None, the call's last byte's, the next byte's; more where it looks like two. */
		if (cases[i].is_call ? pruned->n_rows < 3 : pruned->n_rows != 1)
			fail_msg("%s: %zu rows", cases[i].what, pruned->n_rows);
		if (cases[i].is_call &&
		    (!is_right_at(full, pruned, next) || !is_right_at(full, pruned, next - 1)))
			fail_msg("%s: wrong rows", cases[i].what);
	}
}

static void calls_at_the_code_s_end_are_seen_or_not_whole(void **state)
{
	static const uint8_t call[] = { 0xff, 0x94, 0xc4, 0, 1, 0, 0 };
	_cleanup_(cfi_rows_free_p) struct cfi_rows *full = rows_of_bytes();

	(void)state;
	for (size_t len = 1; len <= sizeof(call); len++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *pruned = NULL;
		_cleanup_free_ uint8_t *code = malloc(len);
		struct cfi_bytes text = { code, len, TEXT + START };

		assert_non_null(code);
		memcpy(code, call, len);
		assert_int_equal(cfi_prune(full, &text, 1, TEXT, &pruned), 0);
		assert_int_equal(pruned->n_rows, len == sizeof(call) ? 3 : 1);
	}
}

static void a_call_hidden_in_another_s_bytes_is_seen(void **state)
{
	/* call rel32 over the bytes of call *%rax: whichever is executed has its rows. */
	static const uint8_t bytes[] = { 0xe8, 0xff, 0xd0, 0, 0, 0 };
	_cleanup_(cfi_rows_free_p) struct cfi_rows *full = rows_of_bytes(), *pruned = NULL;

	(void)state;
	pruned = prune_with(full, bytes, sizeof(bytes));
	assert_true(is_right_at(full, pruned, CODE + 2));
	assert_true(is_right_at(full, pruned, CODE + 3));
}

static void filling_behind_a_call_that_does_not_return_needs_no_row(void **state)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *full = rows_of_bytes(), *pruned = NULL;
	uint8_t code[TEXT_LEN];
	struct cfi_bytes text = { code, sizeof(code), TEXT };

	(void)state;
	memset(code, 0x90, sizeof(code));
	memcpy(code + START + LEN - 2, BYTES(0xff, 0xd0));
	assert_int_equal(cfi_prune(full, &text, 1, TEXT, &pruned), 0);
	assert_int_equal(pruned->n_rows, 2);
	assert_true(is_right_at(full, pruned, START + LEN - 1));
}

static void signal_returns_are_kept_without_a_call(void **state)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *full = NULL, *pruned = NULL;
	struct section none = { .len = 0 };
	struct cfi_input in = input_of(&none);
	uint8_t code[TEXT_LEN] = { 0 };
	struct cfi_bytes text = { code, sizeof(code), TEXT };

	(void)state;
	memcpy(code + START, BYTES(0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05));
	in.text = &text;
	full = compile(&in);
	assert_int_equal(cfi_prune(full, &text, 1, TEXT, &pruned), 0);
	assert_int_equal(cfi_rule_at(pruned, START - 1)->kind, ABI_UNWIND_SIGNAL);
}

/* Every call and `syscall` that capstone finds in a library, disassembled from function starts. */
static void no_return_address_of_a_library_is_lost(void **state)
{
	static const char *const names[] = { "libc.so.6", "libstdc++.so.6" };
	csh capstone;
	cs_insn *insn;

	(void)state;
	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &capstone), CS_ERR_OK);
	assert_int_equal(cs_option(capstone, CS_OPT_SKIPDATA, CS_OPT_ON), CS_ERR_OK);
	insn = cs_malloc(capstone);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *full = NULL, *pruned = NULL;
		_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
		_cleanup_close_ int fd = open_library(names[i]);
		_cleanup_free_ uint8_t *code = NULL;
		struct elf_text text;
		const uint8_t *at;
		size_t left, calls = 0;
		uint64_t addr, base;

		if (fd < 0)
			skip_because("the library is not there");
		assert_int_equal(elf_file_new(fd, &file), 0);
		assert_int_equal(cfi_file_rows(file, false, &full), 0);
		assert_int_equal(cfi_file_rows(file, true, &pruned), 0);
		assert_true(pruned->n_rows * 4 < full->n_rows);
		base = elf_file_base(file);
		assert_int_equal(elf_file_texts(file, &text, 1), 1);
		code = malloc(text.size);
		assert_non_null(code);
		assert_int_equal(elf_file_read(file, text.vaddr, code, text.size), text.size);
		at = code;
		left = text.size;
		addr = text.vaddr;
		while (cs_disasm_iter(capstone, &at, &left, &addr, insn)) {
			uint32_t next = (uint32_t)(insn->address + insn->size - base);

			if (insn->id != X86_INS_CALL && insn->id != X86_INS_SYSCALL)
				continue;
			/* What is no code may look like a call to nowhere. */
			if (cfi_rule_at(full, next - 1)->kind == ABI_UNWIND_NONE)
				continue;
			if (!is_right_at(full, pruned, next - 1))
				fail_msg("%s: %#x %s %s", names[i], next, insn->mnemonic,
					 insn->op_str);
			if (!is_right_at(full, pruned, next) &&
			    cfi_rule_at(full, next)->kind != ABI_UNWIND_NONE)
				fail_msg("%s: behind %#x", names[i], next);
			calls++;
		}
		print_message("%s: %zu of %zu rows, %zu calls\n", names[i], pruned->n_rows,
			      full->n_rows, calls);
		assert_true(calls > 1000);
	}
	cs_free(insn, 1);
	cs_close(&capstone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_of_a_call_keeps_its_rows),
		cmocka_unit_test(calls_at_the_code_s_end_are_seen_or_not_whole),
		cmocka_unit_test(a_call_hidden_in_another_s_bytes_is_seen),
		cmocka_unit_test(filling_behind_a_call_that_does_not_return_needs_no_row),
		cmocka_unit_test(signal_returns_are_kept_without_a_call),
		cmocka_unit_test(no_return_address_of_a_library_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
