/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi.h"

#include "cfi_section.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Instructions of a function, all of 4 bytes; those of each case are so many. */
#define INSNS 8

#define FRAME_MADE DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 29, 4, DW_CFA_offset | 30, 3
#define FRAME_GONE DW_CFA_restore | 30, DW_CFA_restore | 29, DW_CFA_def_cfa_offset, 0
#define NEGATE_RA_STATE 0x2d

/* As compilers write it for arm64: factors 4 and -8, return address in x30, CFA = sp. */
static struct section section_of(uint8_t ra_register, const uint8_t *program, size_t len)
{
	struct section s = { .len = 0 };

	put_number(&s, 0, 4);
	put_number(&s, 0, 4);
	put(&s, "\1zR", 4);
	put(&s, BYTES(4, 0x78, ra_register, 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4));
	put(&s, BYTES(DW_CFA_def_cfa, 31, 0));
	close_entry(&s, 0);
	put_fde(&s, START, INSNS * 4, program, len);
	return s;
}

/* At which of a function's instructions the link register has it: 'l', else '-'. */
static void find(const struct section *s, char ret[INSNS + 1])
{
	const struct cfi_input in = input_of(s);
	uint64_t addresses[INSNS];
	bool in_link[INSNS];

	for (int i = 0; i < INSNS; i++)
		addresses[i] = TEXT + START + (uint64_t)i * 4;
	cfi_find_links(&in, addresses, INSNS, in_link);
	for (int i = 0; i < INSNS; i++)
		ret[i] = in_link[i] ? 'l' : '-';
	ret[INSNS] = '\0';
}

static const struct {
	const char *what;
	const uint8_t *program;
	size_t len;
	const char *wanted;
} functions[] = {
	{ "calls nothing", BYTES(DW_CFA_nop), "llllllll" },
	{ "moves sp alone", BYTES(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16), "llllllll" },
	{ "has a frame",
	  BYTES(DW_CFA_advance_loc | 1, FRAME_MADE, DW_CFA_advance_loc | 5, FRAME_GONE),
	  "l-----ll" },
	{ "has none on its short way",
	  BYTES(DW_CFA_advance_loc | 2, FRAME_MADE, DW_CFA_advance_loc | 3, DW_CFA_remember_state,
		FRAME_GONE, DW_CFA_advance_loc | 1, DW_CFA_restore_state),
	  "ll---l--" },
	{ "signs its return address",
	  BYTES(DW_CFA_advance_loc | 1, NEGATE_RA_STATE, DW_CFA_advance_loc | 1, FRAME_MADE,
		DW_CFA_advance_loc | 4, FRAME_GONE, DW_CFA_advance_loc | 1, NEGATE_RA_STATE),
	  "ll----ll" },
	{ "keeps it in x9", BYTES(DW_CFA_advance_loc | 1, DW_CFA_register, 30, 9), "l-------" },
	{ "has no caller", BYTES(DW_CFA_undefined, 30), "--------" },
	{ "is said to have it unchanged", BYTES(DW_CFA_same_value, 30), "llllllll" },
	{ "is damaged before", BYTES(0x3f), "--------" },
	{ "saves x19 alone", BYTES(DW_CFA_advance_loc | 1, DW_CFA_offset | 19, 2), "llllllll" },
};

static void it_is_where_the_information_says(void **state)
{
	char found[INSNS + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		struct section s = section_of(30, functions[i].program, functions[i].len);

		find(&s, found);
		if (strcmp(found, functions[i].wanted) != 0)
			fail_msg("a function that %s: %s, not %s", functions[i].what, found,
				 functions[i].wanted);
	}
}

static void signing_is_of_arm64_alone(void **state)
{
	struct section s = section_of(16, BYTES(NEGATE_RA_STATE));
	char found[INSNS + 1];

	(void)state;
	find(&s, found);
	assert_string_equal(found, "--------");
}

/* Each end that the section can have: no byte behind it is read, which ASAN=1 would see. */
static void a_section_that_ends_early_says_less(void **state)
{
	struct section s = section_of(30, BYTES(DW_CFA_nop));
	char found[INSNS + 1];

	(void)state;
	while (s.len-- > 0) {
		uint8_t *cut = malloc(s.len + !s.len);
		const struct cfi_input in = { .eh_frame = { cut, s.len, SECTION } };
		const uint64_t address = TEXT + START;
		bool in_link;

		assert_non_null(cut);
		memcpy(cut, s.bytes, s.len);
		cfi_find_links(&in, &address, 1, &in_link);
		free(cut);
		assert_false(in_link);
	}
	s.len = 0;
	find(&s, found);
	assert_string_equal(found, "--------");
}

static void behind_and_before_a_function_nothing_is_known(void **state)
{
	struct section s = section_of(30, BYTES(DW_CFA_nop));
	const struct cfi_input in = input_of(&s);
	const uint64_t addresses[] = { TEXT + START - 1, TEXT + START, TEXT + START + INSNS * 4 };
	bool in_link[3];

	(void)state;
	cfi_find_links(&in, addresses, 3, in_link);
	assert_false(in_link[0]);
	assert_true(in_link[1]);
	assert_false(in_link[2]);
}

static void what_nobody_calls_is_where_stacks_start(void **state)
{
	struct section s = section_of(30, BYTES(DW_CFA_undefined, 30));
	struct cfi_input in;
	struct cfi_range found[4];

	(void)state;
	put_fde(&s, START + 0x100, 8, BYTES(DW_CFA_nop));
	put_fde(&s, START + 0x200, 8, BYTES(DW_CFA_advance_loc | 1, DW_CFA_undefined, 30));
	put_fde(&s, START + 0x300, 8, BYTES(DW_CFA_undefined, 30));
	in = input_of(&s);
	assert_int_equal(cfi_find_starts(&in, found, 4), 2);
	assert_int_equal(found[0].start, TEXT + START);
	assert_int_equal(found[0].end, TEXT + START + INSNS * 4);
	assert_int_equal(found[1].start, TEXT + START + 0x300);
	assert_int_equal(cfi_find_starts(&in, found, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_where_the_information_says),
		cmocka_unit_test(signing_is_of_arm64_alone),
		cmocka_unit_test(a_section_that_ends_early_says_less),
		cmocka_unit_test(what_nobody_calls_is_where_stacks_start),
		cmocka_unit_test(behind_and_before_a_function_nothing_is_known),
	};

	return cmocka_run_group_tests_name("cfi_link", tests, NULL, NULL);
}
