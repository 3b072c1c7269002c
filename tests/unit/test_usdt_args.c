/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/usdt.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/user.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define NONE ABI_USDT_NO_INDEX

struct expected {
	const char *text;
	struct abi_usdt_arg arg;
};

static void check(const struct expected *cases, size_t n, uint16_t machine)
{
	for (size_t i = 0; i < n; i++) {
		struct abi_usdt_arg arg;

		assert_int_equal(usdt_args_parse(cases[i].text, machine, NULL, &arg, 1), 1);
		assert_memory_equal(&arg, &cases[i].arg, sizeof(arg));
	}
}

#define REGS(name) offsetof(struct user_regs_struct, name)

#ifdef __x86_64__
static void operands_of_x86_64_are_found_in_its_registers(void **state)
{
	static const struct expected cases[] = {
		{ "8@%rdi", { ABI_USDT_REGISTER, 8, 0, 0, REGS(rdi), NONE, 0 } },
		{ "-4@%esi", { ABI_USDT_REGISTER, 4, 1, 0, REGS(rsi), NONE, 0 } },
		{ "2@%ax", { ABI_USDT_REGISTER, 2, 0, 0, REGS(rax), NONE, 0 } },
		{ "-1@%r15b", { ABI_USDT_REGISTER, 1, 1, 0, REGS(r15), NONE, 0 } },
		{ "8@%rbx", { ABI_USDT_REGISTER, 8, 0, 0, REGS(rbx), NONE, 0 } },
		{ "8@%rcx", { ABI_USDT_REGISTER, 8, 0, 0, REGS(rcx), NONE, 0 } },
		{ "8@%rdx", { ABI_USDT_REGISTER, 8, 0, 0, REGS(rdx), NONE, 0 } },
		{ "8@%rsp", { ABI_USDT_REGISTER, 8, 0, 0, REGS(rsp), NONE, 0 } },
		{ "8@%r8", { ABI_USDT_REGISTER, 8, 0, 0, REGS(r8), NONE, 0 } },
		{ "8@%r9", { ABI_USDT_REGISTER, 8, 0, 0, REGS(r9), NONE, 0 } },
		{ "8@%r10", { ABI_USDT_REGISTER, 8, 0, 0, REGS(r10), NONE, 0 } },
		{ "8@%r11", { ABI_USDT_REGISTER, 8, 0, 0, REGS(r11), NONE, 0 } },
		{ "8@%r12", { ABI_USDT_REGISTER, 8, 0, 0, REGS(r12), NONE, 0 } },
		{ "8@%r13", { ABI_USDT_REGISTER, 8, 0, 0, REGS(r13), NONE, 0 } },
		{ "8@%r14", { ABI_USDT_REGISTER, 8, 0, 0, REGS(r14), NONE, 0 } },
		{ "-4@$5", { ABI_USDT_CONSTANT, 4, 1, 0, 0, NONE, 5 } },
		{ "-8@$-12", { ABI_USDT_CONSTANT, 8, 1, 0, 0, NONE, -12 } },
		{ "8@$18446744073709551615", { ABI_USDT_CONSTANT, 8, 0, 0, 0, NONE, -1 } },
		{ "8@$0x80000", { ABI_USDT_CONSTANT, 8, 0, 0, 0, NONE, 524288 } },
		{ "8@-16(%rbp)", { ABI_USDT_MEMORY, 8, 0, 0, REGS(rbp), NONE, -16 } },
		{ "8@(%rax)", { ABI_USDT_MEMORY, 8, 0, 0, REGS(rax), NONE, 0 } },
		{ "4@8(%rax,%rbx,4)", { ABI_USDT_MEMORY, 4, 0, 2, REGS(rax), REGS(rbx), 8 } },
		{ "8@(%r8,%r9)", { ABI_USDT_MEMORY, 8, 0, 0, REGS(r8), REGS(r9), 0 } },
	};

	(void)state;
	check(cases, N_ELEMENTS(cases), EM_X86_64);
}
#endif

static void operands_of_arm64_are_found_in_its_registers(void **state)
{
	static const struct expected cases[] = {
		{ "8@x0", { ABI_USDT_REGISTER, 8, 0, 0, 0, NONE, 0 } },
		{ "-4@w21", { ABI_USDT_REGISTER, 4, 1, 0, 21 * 8, NONE, 0 } },
		{ "8@sp", { ABI_USDT_REGISTER, 8, 0, 0, 31 * 8, NONE, 0 } },
		{ "-4@5", { ABI_USDT_CONSTANT, 4, 1, 0, 0, NONE, 5 } },
		{ "8@[sp, 16]", { ABI_USDT_MEMORY, 8, 0, 0, 31 * 8, NONE, 16 } },
		{ "8@[x29,#-8]", { ABI_USDT_MEMORY, 8, 0, 0, 29 * 8, NONE, -8 } },
		{ "4@[x1]", { ABI_USDT_MEMORY, 4, 0, 0, 8, NONE, 0 } },
	};

	(void)state;
	check(cases, N_ELEMENTS(cases), EM_AARCH64);
}

static void as_many_as_are_wanted_are_read(void **state)
{
	struct abi_usdt_arg args[3];

	(void)state;
	assert_int_equal(usdt_args_parse(" 8@%rdi 8@-16(%rsp)  -4@$7 ", EM_X86_64, NULL, args, 3),
			 3);
	assert_int_equal(args[1].place, ABI_USDT_MEMORY);
	assert_int_equal(args[2].value, 7);
	assert_int_equal(usdt_args_parse("8@[sp, 8] 8@x1", EM_AARCH64, NULL, args, 3), 2);
	/* What a later contract adds is no obstacle. */
	assert_int_equal(usdt_args_parse("8@%rdi 8@later", EM_X86_64, NULL, args, 1), 1);
	assert_int_equal(usdt_args_parse("", EM_X86_64, NULL, args, 3), 0);
}

static void what_nobody_can_evaluate_is_refused(void **state)
{
	static const char *const texts[] = {
		"%rdi",
		"8%rdi",
		"8@",
		"3@%rdi",
		"0@%rdi",
		"8@rdi",
		"8@%xmm0",
		"8@%ah",
		"8@%rip",
		"8@$",
		"8@$name",
		"8@name(%rip)",
		"8@name+8(%rip)",
		"8@8(%rip)",
		"8@%fs:16(%rax)",
		"8@16",
		"8@16(%rax",
		"8@(%rax,%rbx,3)",
		"8@(%rax,%rbx,)",
		"8@(%rax)x",
		"8@%rdix",
		"4f@%rdi",
		"8@%rdi,8@%rsi",
		"8@%averylongname",
		"-9223372036854775808@%rdi",
	};
	struct abi_usdt_arg arg;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		assert_int_equal(usdt_args_parse(texts[i], EM_X86_64, NULL, &arg, 1), -EINVAL);
	assert_int_equal(usdt_args_parse("8@x31", EM_AARCH64, NULL, &arg, 1), -EINVAL);
	assert_int_equal(usdt_args_parse("8@[x1", EM_AARCH64, NULL, &arg, 1), -EINVAL);
	assert_int_equal(usdt_args_parse("8@[x1,x2]", EM_AARCH64, NULL, &arg, 1), -EINVAL);
	assert_int_equal(usdt_args_parse("8@%rdi", EM_RISCV, NULL, &arg, 1), -EOPNOTSUPP);
}

/* At 0x4000, 0x4010 and, of which there are two, nowhere. */
static int find_variable(void *userdata, const char *name, uint64_t *ret_vaddr)
{
	(*(int *)userdata)++;
	if (strcmp(name, "twice") == 0)
		return -ENOTUNIQ;
	if (strcmp(name, "counter") != 0 && strcmp(name, "_ZN3a.b$c7counterE.0") != 0)
		return -ENOENT;
	*ret_vaddr = *name == 'c' ? 0x4000 : 0x4010;
	return 0;
}

static void variables_are_as_far_from_the_probe_as_in_the_file(void **state)
{
	static const struct {
		const char *text;
		__s64 value;
		uint8_t bytes;
	} cases[] = {
		{ "8@counter(%rip)", 0x3000, 8 },
		{ "-4@counter+8(%rip)", 0x3008, 4 },
		{ "8@8+counter(%rip)", 0x3008, 8 },
		{ "8@counter-8(%rip)", 0x2ff8, 8 },
		{ "8@-8+counter(%rip)", 0x2ff8, 8 },
		{ "1@16+counter+4(%rip)", 0x3014, 1 },
		{ "8@_ZN3a.b$c7counterE.0(%rip)", 0x3010, 8 },
	};
	int asked = 0;
	const struct usdt_globals globals = { 0x1000, find_variable, &asked };
	struct abi_usdt_arg arg;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		assert_int_equal(usdt_args_parse(cases[i].text, EM_X86_64, &globals, &arg, 1), 1);
		assert_int_equal(arg.place, ABI_USDT_MEMORY);
		assert_int_equal(arg.reg, 16 * 8); /* ip in struct pt_regs */
		assert_int_equal(arg.index, ABI_USDT_NO_INDEX);
		assert_int_equal(arg.value, cases[i].value);
		assert_int_equal(arg.bytes, cases[i].bytes);
	}
	assert_int_equal(asked, N_ELEMENTS(cases));
}

static void what_a_variable_is_not_is_said(void **state)
{
	static const char *const texts[] = { "8@(%rip)",
					     "8@8(%rip)",
					     "8@counter",
					     "8@counter(%rip",
					     "8@counter+other(%rip)",
					     "8@counter(%rax)",
					     "8@counter(%rip)x",
					     "8@counter@GOTPCREL(%rip)",
					     "8@+(%rip)",
					     "8@counter*2(%rip)" };
	int asked = 0;
	const struct usdt_globals globals = { 0x1000, find_variable, &asked };
	char longest[1024] = "8@";
	struct abi_usdt_arg arg;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		assert_int_equal(usdt_args_parse(texts[i], EM_X86_64, &globals, &arg, 1), -EINVAL);
	memset(longest + 2, 'a', 600);
	memcpy(longest + 602, "(%rip)", 7);
	assert_int_equal(usdt_args_parse(longest, EM_X86_64, &globals, &arg, 1), -EINVAL);
	assert_int_equal(usdt_args_parse("8@none(%rip)", EM_X86_64, &globals, &arg, 1), -ENOENT);
	assert_int_equal(usdt_args_parse("8@twice(%rip)", EM_X86_64, &globals, &arg, 1), -ENOTUNIQ);
	assert_int_equal(usdt_args_parse("8@counter(%rip)", EM_AARCH64, &globals, &arg, 1),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(operands_of_x86_64_are_found_in_its_registers),
#endif
		cmocka_unit_test(operands_of_arm64_are_found_in_its_registers),
		cmocka_unit_test(as_many_as_are_wanted_are_read),
		cmocka_unit_test(what_nobody_can_evaluate_is_refused),
		cmocka_unit_test(variables_are_as_far_from_the_probe_as_in_the_file),
		cmocka_unit_test(what_a_variable_is_not_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
