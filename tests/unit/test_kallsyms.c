/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kallsyms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static struct kallsyms *parse(const char *text)
{
	struct kallsyms *kallsyms = NULL;

	assert_int_equal(kallsyms_new(text, strlen(text), &kallsyms), 0);
	return kallsyms;
}

/* "name+offset [module]", "-" when nothing is there. */
static const char *at(const struct kallsyms *kallsyms, uint64_t addr)
{
	static char text[128];
	struct kallsyms_symbol symbol;

	if (!kallsyms_find(kallsyms, addr, &symbol))
		return "-";
	snprintf(text, sizeof(text), "%s+%lu%s%s%s", symbol.name,
		 (unsigned long)(addr - symbol.start), symbol.module ? " [" : "",
		 symbol.module ? symbol.module : "", symbol.module ? "]" : "");
	return text;
}

/* Sorted neither by address nor by type, as the kernel gives it with modules. */
static const char kernel[] = "0000000000000000 A fixed_percpu_data\n"
			     "0000000000001000 A cpu_hw_events\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T startup_64\n"
			     "ffffffff81000140 t __do_sys_read\n"
			     "ffffffff81000140 T __x64_sys_read\n"
			     "ffffffff81000200 W weak_one\n"
			     "ffffffff81000280 D some_data\n"
			     "ffffffff81000300 T before_rodata\n"
			     "ffffffff81000400 r rodata\n"
			     "ffffffffc0a82000 t nft_second\t[nf_tables]\n"
			     "ffffffffc0a81000 t nft_do_chain\t[nf_tables]\n"
			     "ffffffffc0a89010 t ext4_read\t[ext4]\n"
			     "ffffffffc0c00000 t bpf_prog_6deef7357e7b4530_dump\t[bpf]";

static void an_address_belongs_to_the_function_that_begins_before_it(void **state)
{
	static const struct {
		uint64_t addr;
		const char *expected;
	} cases[] = {
		{ 0, "-" },
		{ 0x1010, "-" },
		{ 0xffffffff80ffffff, "-" },
		{ 0xffffffff81000000, "startup_64+0" },
		{ 0xffffffff8100013f, "startup_64+319" },
		{ 0xffffffff81000141, "__x64_sys_read+1" },
		{ 0xffffffff81000210, "weak_one+16" },
		{ 0xffffffff81000280, "-" },
		{ 0xffffffff810002ff, "-" },
		{ 0xffffffff81000300, "before_rodata+0" },
		{ 0xffffffff81000400, "-" },
		{ 0xffffffffc0a81fff, "nft_do_chain+4095 [nf_tables]" },
		{ 0xffffffffc0a82001, "nft_second+1 [nf_tables]" },
		{ 0xffffffffc0a89020, "ext4_read+16 [ext4]" },
		{ 0xffffffffc0c00004, "bpf_prog_6deef7357e7b4530_dump+4 [bpf]" },
		{ UINT64_MAX, "-" },
	};
	_cleanup_(kallsyms_free_p) struct kallsyms *kallsyms = parse(kernel);

	(void)state;
	assert_int_equal(kallsyms_malformed(kallsyms), 0);
	assert_int_equal(kallsyms_count(kallsyms), 8);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		assert_string_equal(at(kallsyms, cases[i].addr), cases[i].expected);
}

/* Between two modules is nothing that either of them owns. */
static void the_last_function_of_a_module_does_not_reach_to_the_next(void **state)
{
	_cleanup_(kallsyms_free_p) struct kallsyms *kallsyms = parse(kernel);

	(void)state;
	assert_string_equal(at(kallsyms, 0xffffffffc0a83fff), "nft_second+8191 [nf_tables]");
	assert_string_equal(at(kallsyms, 0xffffffffc0a84000), "-");
	assert_string_equal(at(kallsyms, 0xffffffffc0a8900f), "-");
	assert_string_equal(at(kallsyms, 0xffffffffc0c01fff),
			    "bpf_prog_6deef7357e7b4530_dump+8191 [bpf]");
	assert_string_equal(at(kallsyms, 0xffffffffc0c02000), "-");
}

static void of_aliases_the_global_one_without_underscores_is_named(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "ffffffff81000000 t b\nffffffff81000000 T __a\n", "__a+0" },
		{ "ffffffff81000000 T __a\nffffffff81000000 T a\n", "a+0" },
		{ "ffffffff81000000 T a\nffffffff81000000 T __a\n", "a+0" },
		{ "ffffffff81000000 W w\nffffffff81000000 T __a\n", "__a+0" },
		{ "ffffffff81000000 T one\nffffffff81000000 T two\n", "one+0" },
		{ "ffffffff81000000 D data\nffffffff81000000 t __a\n", "__a+0" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(kallsyms_free_p) struct kallsyms *kallsyms = parse(cases[i].text);

		assert_string_equal(at(kallsyms, 0xffffffff81000000), cases[i].expected);
	}
}

static void hidden_addresses_make_an_empty_table(void **state)
{
	_cleanup_(kallsyms_free_p) struct kallsyms *kallsyms = parse("0000000000000000 T _stext\n"
								     "0000000000000000 t other\n");

	(void)state;
	assert_int_equal(kallsyms_count(kallsyms), 0);
	assert_int_equal(kallsyms_malformed(kallsyms), 0);
	assert_string_equal(at(kallsyms, 0), "-");
}

static void malformed_lines_are_skipped_and_counted(void **state)
{
	static const char *const lines[] = {
		"x",
		"ffffffff81000100",
		"ffffffff81000100 T",
		"ffffffff81000100 T ",
		"ffffffff81000100  name",
		"ffffffff81000100 TT name",
		"ffffffff81000100T name",
		"0xffffffff81000100 T name",
		" ffffffff81000100 T name",
		"-ffffffff8100010 T name",
		"1ffffffff81000100 T name",
		"ffffffff81000100 1 name",
		"ffffffff81000100 T \t[mod]",
		"ffffffff81000100 T name\t[]",
		"ffffffff81000100 T name\tmod",
		"ffffffff81000100 T name\t[mod",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		_cleanup_(kallsyms_free_p) struct kallsyms *kallsyms = NULL;
		char text[128];

		snprintf(text, sizeof(text), "ffffffff81000000 T before\n%s\n\n%s", lines[i],
			 "ffffffff81000200 T after\n");
		kallsyms = parse(text);
		if (kallsyms_malformed(kallsyms) != 1)
			fail_msg("<%s> is accepted", lines[i]);
		assert_string_equal(at(kallsyms, 0xffffffff81000100), "before+256");
		assert_string_equal(at(kallsyms, 0xffffffff81000200), "after+0");
	}
}

static void a_line_with_a_nul_byte_is_malformed(void **state)
{
	static const char text[] = "ffffffff81000000 T f\0g\nffffffff81000200 T h\n";
	_cleanup_(kallsyms_free_p) struct kallsyms *kallsyms = NULL;

	(void)state;
	assert_int_equal(kallsyms_new(text, sizeof(text) - 1, &kallsyms), 0);
	assert_int_equal(kallsyms_malformed(kallsyms), 1);
	assert_string_equal(at(kallsyms, 0xffffffff81000000), "-");
	assert_string_equal(at(kallsyms, 0xffffffff81000200), "h+0");
}

static void the_end_of_the_address_space_is_no_end(void **state)
{
	_cleanup_(kallsyms_free_p) struct kallsyms *kallsyms =
		parse("fffffffffffff000 T last\nffffffffffffff00 t very_last\t[m]\n");

	(void)state;
	assert_string_equal(at(kallsyms, 0xfffffffffffff800), "last+2048");
	assert_string_equal(at(kallsyms, 0xfffffffffffffff0), "very_last+240 [m]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_belongs_to_the_function_that_begins_before_it),
		cmocka_unit_test(the_last_function_of_a_module_does_not_reach_to_the_next),
		cmocka_unit_test(of_aliases_the_global_one_without_underscores_is_named),
		cmocka_unit_test(hidden_addresses_make_an_empty_table),
		cmocka_unit_test(malformed_lines_are_skipped_and_counted),
		cmocka_unit_test(a_line_with_a_nul_byte_is_malformed),
		cmocka_unit_test(the_end_of_the_address_space_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
