/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/insn.h"

#include "decoder_fixture.h"
#include "probe/plan.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ADDR 0x1000
#define BYTES(...) .bytes = { __VA_ARGS__ }, .len = sizeof((uint8_t[]){ __VA_ARGS__ })

/* Bits of writes_args. */
enum { RDI = 1, RSI = 2, RDX = 4, RCX = 8, R8 = 16, R9 = 32 };

static void other_machines_are_refused(void **state)
{
	struct insn_decoder *decoder = NULL;

	(void)state;
	assert_int_equal(insn_decoder_new(EM_RISCV, &decoder), -EOPNOTSUPP);
	assert_int_equal(insn_decoder_new(EM_386, &decoder), -EOPNOTSUPP);
	assert_null(decoder);
}

static void the_way_on_and_its_target_are_known(void **state)
{
	static const struct {
		const char *what;
		uint8_t bytes[16];
		size_t len;
		enum insn_flow flow;
		enum insn_target kind;
		uint64_t target;
	} cases[] = {
		{ "ret", BYTES(0xc3), INSN_RETURN, INSN_TARGET_NONE, 0 },
		{ "repz ret", BYTES(0xf3, 0xc3), INSN_RETURN, INSN_TARGET_NONE, 0 },
		{ "ret 8", BYTES(0xc2, 8, 0), INSN_RETURN, INSN_TARGET_NONE, 0 },
		{ "far ret", BYTES(0xcb), INSN_JUMP, INSN_TARGET_COMPUTED, 0 },
		{ "jmp +4", BYTES(0xeb, 4), INSN_JUMP, INSN_TARGET_DIRECT, ADDR + 6 },
		{ "jmp -5", BYTES(0xe9, 0xfb, 0xff, 0xff, 0xff), INSN_JUMP, INSN_TARGET_DIRECT,
		  ADDR },
		{ "bnd jmp", BYTES(0xf2, 0xe9, 4, 0, 0, 0), INSN_JUMP, INSN_TARGET_DIRECT,
		  ADDR + 10 },
		{ "jmp *rax", BYTES(0xff, 0xe0), INSN_JUMP, INSN_TARGET_COMPUTED, 0 },
		{ "notrack jmp *rax", BYTES(0x3e, 0xff, 0xe0), INSN_JUMP, INSN_TARGET_COMPUTED, 0 },
		{ "jmp *table(,rax,8)", BYTES(0xff, 0x24, 0xc5, 0, 0, 0, 0), INSN_JUMP,
		  INSN_TARGET_COMPUTED, 0 },
		{ "jmp *0x10(rip)", BYTES(0xff, 0x25, 0x10, 0, 0, 0), INSN_JUMP, INSN_TARGET_SLOT,
		  ADDR + 0x16 },
		{ "call *0x10(rip)", BYTES(0xff, 0x15, 0x10, 0, 0, 0), INSN_CALL, INSN_TARGET_SLOT,
		  ADDR + 0x16 },
		{ "jmp *fs:0x10(rip)", BYTES(0x64, 0xff, 0x25, 0x10, 0, 0, 0), INSN_JUMP,
		  INSN_TARGET_COMPUTED, 0 },
		{ "je +1", BYTES(0x74, 1), INSN_BRANCH, INSN_TARGET_DIRECT, ADDR + 3 },
		{ "jo far", BYTES(0x0f, 0x80, 0, 1, 0, 0), INSN_BRANCH, INSN_TARGET_DIRECT,
		  ADDR + 0x106 },
		{ "jrcxz", BYTES(0xe3, 2), INSN_BRANCH, INSN_TARGET_DIRECT, ADDR + 4 },
		{ "loop", BYTES(0xe2, 2), INSN_BRANCH, INSN_TARGET_DIRECT, ADDR + 4 },
		{ "xbegin", BYTES(0xc7, 0xf8, 4, 0, 0, 0), INSN_BRANCH, INSN_TARGET_DIRECT,
		  ADDR + 10 },
		{ "call", BYTES(0xe8, 0x10, 0, 0, 0), INSN_CALL, INSN_TARGET_DIRECT, ADDR + 0x15 },
		{ "data16 rex.w call", BYTES(0x66, 0x66, 0x48, 0xe8, 0x10, 0, 0, 0), INSN_CALL,
		  INSN_TARGET_DIRECT, ADDR + 0x18 },
		{ "call *rax", BYTES(0xff, 0xd0), INSN_CALL, INSN_TARGET_COMPUTED, 0 },
		{ "ud2", BYTES(0x0f, 0x0b), INSN_TRAP, INSN_TARGET_NONE, 0 },
		{ "hlt", BYTES(0xf4), INSN_TRAP, INSN_TARGET_NONE, 0 },
		{ "int3", BYTES(0xcc), INSN_TRAP, INSN_TARGET_NONE, 0 },
		{ "syscall", BYTES(0x0f, 0x05), INSN_NEXT, INSN_TARGET_NONE, 0 },
		{ "push rbx", BYTES(0x53), INSN_NEXT, INSN_TARGET_NONE, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn;

		print_message("%s\n", cases[i].what);
		assert_int_equal(insn_decode(*state, cases[i].bytes, cases[i].len, ADDR, &insn), 0);
		assert_int_equal(insn.len, cases[i].len);
		assert_int_equal(insn.flow, cases[i].flow);
		assert_int_equal(insn.target_kind, cases[i].kind);
		assert_int_equal(insn.target, cases[i].target);
	}
}

static void what_an_instruction_writes_is_known_or_feared(void **state)
{
	static const struct {
		const char *what;
		uint8_t bytes[16];
		size_t len;
		bool is_plain;
		uint8_t writes;
	} cases[] = {
		{ "test rdi, rdi", BYTES(0x48, 0x85, 0xff), true, 0 },
		{ "cmpb $0, (rip)", BYTES(0x80, 0x3d, 0, 0, 0, 0, 0), true, 0 },
		{ "endbr64", BYTES(0xf3, 0x0f, 0x1e, 0xfa), true, 0 },
		{ "mov rax, rdi", BYTES(0x48, 0x89, 0xf8), true, 0 },
		{ "mov rdi, rax", BYTES(0x48, 0x89, 0xc7), true, RDI },
		{ "mov edi, 1", BYTES(0xbf, 1, 0, 0, 0), true, RDI },
		{ "mov sil, 1", BYTES(0x40, 0xb6, 1), true, RSI },
		{ "mov dh, 1", BYTES(0xb6, 1), true, RDX },
		{ "xor ecx, ecx", BYTES(0x31, 0xc9), true, RCX },
		{ "lea r8, 1(rax)", BYTES(0x4c, 0x8d, 0x40, 1), true, R8 },
		{ "inc r9", BYTES(0x49, 0xff, 0xc1), true, R9 },
		{ "cmovne rdi, rax", BYTES(0x48, 0x0f, 0x45, 0xf8), true, RDI },
		{ "movzx esi, byte (rax)", BYTES(0x0f, 0xb6, 0x30), true, RSI },
		{ "mov (rdi), rsi", BYTES(0x48, 0x89, 0x37), true, 0 },
		{ "mov rbp, rsp", BYTES(0x48, 0x89, 0xe5), true, 0 },
		{ "mov rsp, rbp", BYTES(0x48, 0x89, 0xec), false, 0 },
		{ "sub rsp, 8", BYTES(0x48, 0x83, 0xec, 8), false, 0 },
		{ "and rsp, -16", BYTES(0x48, 0x83, 0xe4, 0xf0), false, 0 },
		{ "lea rsp, 8(rsp)", BYTES(0x48, 0x8d, 0x64, 0x24, 8), false, 0 },
		{ "push rbx", BYTES(0x53), false, 0 },
		{ "pop rdi", BYTES(0x5f), false, 0 },
		{ "leave", BYTES(0xc9), false, 0 },
		{ "mul rdi", BYTES(0x48, 0xf7, 0xe7), false, 0 },
		{ "xchg rax, rdi", BYTES(0x48, 0x97), false, 0 },
		{ "rep stosb", BYTES(0xf3, 0xaa), false, 0 },
		{ "cpuid", BYTES(0x0f, 0xa2), false, 0 },
		{ "syscall", BYTES(0x0f, 0x05), false, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn;

		print_message("%s\n", cases[i].what);
		assert_int_equal(insn_decode(*state, cases[i].bytes, cases[i].len, ADDR, &insn), 0);
		assert_int_equal(insn.is_plain, cases[i].is_plain);
		if (cases[i].is_plain)
			assert_int_equal(insn.writes_args, cases[i].writes);
	}
}

static void the_kernel_s_classes_follow_its_own_rules(void **state)
{
	static const struct {
		const char *what;
		uint8_t bytes[16];
		size_t len;
		enum insn_class class;
	} cases[] = {
		{ "push rbx", BYTES(0x53), INSN_CLASS_PUSH },
		{ "push r12", BYTES(0x41, 0x54), INSN_CLASS_PUSH },
		{ "rex.w push rbx", BYTES(0x48, 0x53), INSN_OTHER },
		{ "push $1", BYTES(0x6a, 1), INSN_OTHER },
		{ "nop", BYTES(0x90), INSN_CLASS_NOP1 },
		{ "xchg ax, ax", BYTES(0x66, 0x90), INSN_CLASS_NOP1 },
		{ "xchg r8, rax", BYTES(0x49, 0x90), INSN_OTHER },
		{ "nopl (rax)", BYTES(0x0f, 0x1f, 0), INSN_CLASS_NOPL },
		{ "nopw (rax)", BYTES(0x66, 0x0f, 0x1f, 0x44, 0, 0), INSN_CLASS_NOPL },
		{ "cs nopw", BYTES(0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0), INSN_OTHER },
		{ "endbr64", BYTES(0xf3, 0x0f, 0x1e, 0xfa), INSN_CLASS_ENDBR },
		{ "jmp short", BYTES(0xeb, 4), INSN_CLASS_JMP },
		{ "bnd jmp", BYTES(0xf2, 0xe9, 4, 0, 0, 0), INSN_CLASS_JMP },
		{ "jmp *(rip)", BYTES(0xff, 0x25, 0, 0, 0, 0), INSN_OTHER },
		{ "je", BYTES(0x74, 1), INSN_CLASS_JCC },
		{ "jo near", BYTES(0x0f, 0x80, 0, 0, 0, 0), INSN_CLASS_JCC },
		{ "je with hint", BYTES(0x3e, 0x74, 1), INSN_OTHER },
		{ "jrcxz", BYTES(0xe3, 2), INSN_OTHER },
		{ "call", BYTES(0xe8, 0, 0, 0, 0), INSN_CLASS_CALL },
		{ "data16 rex.w call", BYTES(0x66, 0x48, 0xe8, 0, 0, 0, 0), INSN_OTHER },
		{ "call *rax", BYTES(0xff, 0xd0), INSN_OTHER },
		{ "ret", BYTES(0xc3), INSN_CLASS_RET },
		{ "repz ret", BYTES(0xf3, 0xc3), INSN_OTHER },
		{ "sub rsp, 8", BYTES(0x48, 0x83, 0xec, 8), INSN_CLASS_SUB_SP },
		{ "sub rsp, 0x100", BYTES(0x48, 0x81, 0xec, 0, 1, 0, 0), INSN_CLASS_SUB_SP },
		{ "add rsp, 8", BYTES(0x48, 0x83, 0xc4, 8), INSN_OTHER },
		{ "sub r12, 8", BYTES(0x49, 0x83, 0xec, 8), INSN_OTHER },
		{ "mov rbp, rsp", BYTES(0x48, 0x89, 0xe5), INSN_CLASS_MOV },
		{ "mov r12, rdi", BYTES(0x49, 0x89, 0xfc), INSN_CLASS_MOV },
		{ "mov ebp, esp", BYTES(0x89, 0xe5), INSN_OTHER },
		{ "mov rax, (rdi)", BYTES(0x48, 0x8b, 0x07), INSN_OTHER },
		{ "test rdi, rdi", BYTES(0x48, 0x85, 0xff), INSN_OTHER },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn;

		print_message("%s\n", cases[i].what);
		assert_int_equal(insn_decode(*state, cases[i].bytes, cases[i].len, ADDR, &insn), 0);
		assert_int_equal(insn.class, cases[i].class);
	}
}

static void each_class_is_emulated_where_its_flag_says_so(void **state)
{
	static const struct {
		enum insn_class class;
		struct plan_emulation only;
	} cases[] = {
		{ INSN_CLASS_PUSH, { .push = true } },	   { INSN_CLASS_NOP1, { .nop1 = true } },
		{ INSN_CLASS_NOPL, { .nopl = true } },	   { INSN_CLASS_ENDBR, { .endbr = true } },
		{ INSN_CLASS_JMP, { .jmp = true } },	   { INSN_CLASS_JCC, { .jcc = true } },
		{ INSN_CLASS_CALL, { .call = true } },	   { INSN_CLASS_RET, { .ret = true } },
		{ INSN_CLASS_SUB_SP, { .sub_sp = true } }, { INSN_CLASS_MOV, { .mov = true } },
		{ INSN_CLASS_ADR, { .adr = true } },
	};
	size_t n = sizeof(cases) / sizeof(cases[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct insn insn = { .class = cases[i].class };

		for (size_t j = 0; j < n; j++)
			assert_int_equal(insn_is_emulated(&insn, &cases[j].only), i == j);
	}
	assert_false(insn_is_emulated(&(struct insn){ .class = INSN_OTHER },
				      &(struct plan_emulation){ .push = true, .jmp = true }));
}

static void half_and_unknown_instructions_are_refused(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t len;
	} cases[] = {
		{ { 0 }, 0 },
		{ BYTES(0xe8, 0, 0) },
		{ BYTES(0x48) },
		{ BYTES(0x06) }, /* push es: not in 64-bit mode */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn;

		assert_int_equal(insn_decode(*state, cases[i].bytes, cases[i].len, ADDR, &insn),
				 -EILSEQ);
	}
}

static void linkage_stubs_are_recognised_in_all_their_forms(void **state)
{
	static const struct {
		const char *what;
		uint8_t bytes[16];
		size_t len;
		uint64_t slot; /* 0: no stub */
	} cases[] = {
		{ ".plt", BYTES(0xff, 0x25, 0x10, 0, 0, 0), ADDR + 0x16 },
		{ ".plt.sec", BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x10, 0, 0, 0),
		  ADDR + 0x1a },
		{ ".plt.sec, MPX", BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0),
		  ADDR + 0x1b },
		{ "call", BYTES(0xff, 0x15, 0x10, 0, 0, 0), 0 },
		{ "direct", BYTES(0xe9, 0x10, 0, 0, 0), 0 },
		{ "other code first", BYTES(0x90, 0xff, 0x25, 0x10, 0, 0, 0), 0 },
		{ "endbr64 alone", BYTES(0xf3, 0x0f, 0x1e, 0xfa), 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t slot = 0;
		bool is_stub;

		print_message("%s\n", cases[i].what);
		is_stub = insn_stub_slot(*state, cases[i].bytes, cases[i].len, ADDR, &slot);
		assert_int_equal(is_stub, cases[i].slot != 0);
		assert_int_equal(slot, cases[i].slot);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_machines_are_refused),
		cmocka_unit_test(the_way_on_and_its_target_are_known),
		cmocka_unit_test(what_an_instruction_writes_is_known_or_feared),
		cmocka_unit_test(the_kernel_s_classes_follow_its_own_rules),
		cmocka_unit_test(each_class_is_emulated_where_its_flag_says_so),
		cmocka_unit_test(half_and_unknown_instructions_are_refused),
		cmocka_unit_test(linkage_stubs_are_recognised_in_all_their_forms),
	};

	return cmocka_run_group_tests(tests, decoder_setup, decoder_teardown);
}
