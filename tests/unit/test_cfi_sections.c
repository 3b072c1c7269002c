/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which entries there are in a section, whose code they speak for, and what pruning leaves. */
#include "elf/cfi/cfi.h"

#include "cfi_section.h"

#include <dwarf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PCREL (DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define BEHIND                                                                                     \
	{                                                                                          \
		START + LEN, NONE                                                                  \
	}

static const struct wanted one_function[] = { { START, SP(8) }, BEHIND };

static void augmentations_are_understood_or_passed_over(void **state)
{
	const struct {
		const char *letters;
		const uint8_t *data;
		size_t len;
		bool is_read;
	} cases[] = {
		{ "zR", BYTES(PCREL), true },
		{ "zRS", BYTES(PCREL), true },
		{ "zRSB", BYTES(PCREL), true },
		{ "zPLR", BYTES(DW_EH_PE_udata4, 1, 2, 3, 4, DW_EH_PE_udata4, PCREL), true },
		{ "zPR", BYTES(DW_EH_PE_indirect | PCREL, 1, 2, 3, 4, PCREL), true },
		{ "zLR", BYTES(DW_EH_PE_omit, PCREL), true },
		{ "zRX", BYTES(PCREL, 1, 2, 3),
		  true }, /* what X is does not matter, by its length */
		{ "zR", BYTES(PCREL, 0, 0), true },
		{ "zPR", BYTES(0x0d, PCREL), false }, /* a pointer of no known format */
		{ "zR", NULL, 0, false },
		{ "R", NULL, 0, false },
		{ "X", NULL, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct section s = { .len = 0 };
		struct cfi_input in;

		put_cie(&s, cases[i].letters, cases[i].data, cases[i].len);
		put_fde(&s, START, LEN, NULL, 0);
		in = input_of(&s);
		rows = compile(&in);
		assert_rows(rows, one_function, cases[i].is_read ? 2 : 0, cases[i].letters);
		assert_int_equal(rows->lost[CFI_DAMAGED_ENTRIES], !cases[i].is_read);
	}
}

/* An FDE whose address is written as the operand says; its length follows in the same format. */
static void put_encoded_fde(struct section *s, uint64_t address, size_t size, size_t pad)
{
	size_t start = s->len;

	put_number(s, 0, 4);
	put_number(s, s->len, 4);
	put_number(s, 0, pad);
	put_number(s, address, size);
	put_number(s, LEN, size);
	put_number(s, 0, 1);
	close_entry(s, start);
}

static void addresses_are_read_in_each_encoding(void **state)
{
	enum { DATA_BASE = 0x3000, CIE_LEN = 22, AT = SECTION + CIE_LEN + 8 };
	static const struct {
		uint8_t encoding, size;
		uint64_t address;
		size_t pad;
		bool is_read;
	} cases[] = {
		{ DW_EH_PE_absptr, 8, TEXT + START, 0, true },
		{ DW_EH_PE_udata8, 8, TEXT + START, 0, true },
		{ DW_EH_PE_sdata8 | DW_EH_PE_pcrel, 8, (uint64_t)TEXT + START - AT, 0, true },
		{ DW_EH_PE_udata4, 4, TEXT + START, 0, true },
		{ DW_EH_PE_sdata4 | DW_EH_PE_pcrel, 4, (uint64_t)TEXT + START - AT, 0, true },
		{ DW_EH_PE_sdata4 | DW_EH_PE_datarel, 4, (uint64_t)TEXT + START - DATA_BASE, 0,
		  true },
		{ DW_EH_PE_udata4 | DW_EH_PE_textrel, 4, TEXT + START, 0, true },
		{ DW_EH_PE_udata2, 2, TEXT + START, 0, true },
		{ DW_EH_PE_sdata2 | DW_EH_PE_datarel, 2, (uint64_t)TEXT + START - DATA_BASE, 0,
		  true },
		{ DW_EH_PE_aligned, 8, TEXT + START, -AT & 7, true },
		{ DW_EH_PE_omit, 4, 0, 0, false },
		{ DW_EH_PE_indirect | PCREL, 4, 0, 0, false },
		{ DW_EH_PE_funcrel, 4, 0, 0, false },
		{ 0x0d, 4, 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct section s = { .len = 0 };
		char what[32];
		struct cfi_input in;

		put_cie(&s, "zR", &cases[i].encoding, 1);
		assert_int_equal(s.len, CIE_LEN);
		put_encoded_fde(&s, cases[i].address, cases[i].size, cases[i].pad);
		in = input_of(&s);
		in.data_base = DATA_BASE;
		rows = compile(&in);
		snprintf(what, sizeof(what), "encoding %#x", cases[i].encoding);
		assert_rows(rows, one_function, cases[i].is_read ? 2 : 0, what);
		assert_int_equal(rows->lost[CFI_DAMAGED_ENTRIES], !cases[i].is_read);
	}
}

static void leb128_addresses_are_read(void **state)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	struct section s = { .len = 0 };
	struct cfi_input in;
	size_t start;

	(void)state;
	put_cie(&s, "zR", BYTES(DW_EH_PE_uleb128));
	start = s.len;
	put_number(&s, 0, 4);
	put_number(&s, s.len, 4);
	put(&s, BYTES(0x80, 0x22, LEN, 0)); /* 0x1100 */
	close_entry(&s, start);
	in = input_of(&s);
	rows = compile(&in);
	assert_rows(rows, one_function, 2, "uleb128");
}

/* Versions of .debug_frame, each in 32 and in 64 bits. */
static void put_debug_entries(struct section *s, uint8_t version, bool is_64, uint64_t start,
			      uint64_t len, uint8_t cfa_offset)
{
	size_t word = is_64 ? 8 : 4, cie = s->len, at;
	uint64_t n;

	for (int is_fde = 0; is_fde <= 1; is_fde++) {
		if (is_64)
			put_number(s, UINT32_MAX, 4);
		at = s->len;
		put_number(s, 0, word);
		put_number(s, is_fde ? cie : UINT64_MAX, word);
		if (is_fde) {
			if (version == 4)
				put_number(s, 0x77, 2); /* segment selector */
			put_number(s, start, 8);
			put_number(s, len, 8);
			put(s, BYTES(DW_CFA_def_cfa_offset, cfa_offset));
		} else {
			put_number(s, version, 1);
			put_number(s, 0, 1);
			if (version == 4)
				put(s, BYTES(8, 2));
			put(s, BYTES(1, 0x78, 16));
			put(s, usual, sizeof(usual));
		}
		n = s->len - at - word;
		memcpy(s->bytes + at, &n, word);
	}
}

static void debug_frame_of_all_versions_is_read(void **state)
{
	static const uint8_t versions[] = { 1, 3, 4 };
	static const struct wanted wanted[] = { { START, SP(16) }, BEHIND };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(versions); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct section none = { .len = 0 }, s = { .len = 0 };
		struct cfi_input in = input_of(&none);

		put_debug_entries(&s, versions[i / 2], i % 2, TEXT + START, LEN, 16);
		in.debug_frame = (struct cfi_bytes){ s.bytes, s.len, 0 };
		rows = compile(&in);
		assert_rows(rows, wanted, 2, i % 2 ? "64 bits" : "32 bits");
		assert_int_equal(rows->lost[CFI_DAMAGED_ENTRIES], 0);
	}
}

static void cies_of_other_machines_and_versions_are_not(void **state)
{
	static const struct {
		uint8_t version, address_bytes;
	} cases[] = { { 0, 8 }, { 2, 8 }, { 5, 8 }, { 4, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct section none = { .len = 0 }, s = { .len = 0 };
		struct cfi_input in = input_of(&none);

		put_debug_entries(&s, 4, false, TEXT + START, LEN, 16);
		s.bytes[8] = cases[i].version;
		s.bytes[10] = cases[i].address_bytes;
		in.debug_frame = (struct cfi_bytes){ s.bytes, s.len, 0 };
		rows = compile(&in);
		assert_int_equal(rows->n_rows, 1);
		assert_int_equal(rows->lost[CFI_DAMAGED_ENTRIES], 1);
	}
}

static void a_length_of_64_bits_leaves_eh_frame_s_ids_of_4_bytes(void **state)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	struct section s = usual_section();
	struct cfi_input in;
	size_t start = s.len;
	uint64_t n;

	(void)state;
	put_number(&s, UINT32_MAX, 4);
	put_number(&s, 0, 8);
	put_number(&s, s.len, 4);
	put_number(&s, TEXT + START - (SECTION + s.len), 4);
	put_number(&s, LEN, 4);
	put_number(&s, 0, 1);
	n = s.len - start - 12;
	memcpy(s.bytes + start + 4, &n, sizeof(n));
	in = input_of(&s);
	rows = compile(&in);
	assert_rows(rows, one_function, 2, "64 bits");
}

static void nothing_is_read_behind_the_terminator(void **state)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	struct section s = usual_section();
	struct cfi_input in;

	(void)state;
	put_fde(&s, START, LEN, NULL, 0);
	put_number(&s, 0, 4);
	put_fde(&s, START + 2 * LEN, LEN, NULL, 0);
	put(&s, BYTES(0xff, 0xfe));
	in = input_of(&s);
	rows = compile(&in);
	assert_rows(rows, one_function, 2, "terminator");
	assert_int_equal(rows->lost[CFI_DAMAGED_ENTRIES], 0);
}

static void a_damaged_entry_costs_no_other(void **state)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	struct section s = usual_section();
	struct cfi_input in;
	size_t start = s.len;

	(void)state;
	put_number(&s, 0, 4);
	put_number(&s, 0xfffff, 4); /* a CIE before the section */
	close_entry(&s, start);
	start = s.len;
	put_number(&s, 0, 4);
	put_number(&s, s.len, 4);
	put_number(&s, 0, 2); /* half an address */
	close_entry(&s, start);
	start = s.len;
	put_number(&s, 0, 4);
	put_number(&s, s.len - (start - 6), 4); /* no CIE there */
	put_number(&s, 0, 4);
	close_entry(&s, start);
	put_fde(&s, START, LEN, NULL, 0);
	in = input_of(&s);
	rows = compile(&in);
	assert_rows(rows, one_function, 2, "damaged");
	assert_int_equal(rows->lost[CFI_DAMAGED_ENTRIES], 3);
}

/* Functions by start and length, each with its own CFA: what is left of them. */
static void the_entry_that_starts_first_wins(void **state)
{
	static const struct {
		const char *what;
		struct {
			uint32_t start, len;
		} fdes[3];
		struct wanted rows[6];
		size_t n;
	} cases[] = {
		{ "in any order",
		  { { 0x200, 0x10 }, { 0x100, 0x10 } },
		  { { 0x100, SP(32) }, { 0x110, NONE }, { 0x200, SP(16) }, { 0x210, NONE } },
		  4 },
		{ "without a gap",
		  { { 0x100, 0x10 }, { 0x110, 0x10 } },
		  { { 0x100, SP(16) }, { 0x110, SP(32) }, { 0x120, NONE } },
		  3 },
		{ "one within the other",
		  { { 0x100, 0x40 }, { 0x110, 0x10 } },
		  { { 0x100, SP(16) }, { 0x140, NONE } },
		  2 },
		{ "one over the other's end",
		  { { 0x110, 0x20 }, { 0x100, 0x18 } },
		  { { 0x100, SP(32) }, { 0x118, SP(16) }, { 0x130, NONE } },
		  3 },
		{ "at the same address",
		  { { 0x100, 0x10 }, { 0x100, 0x20 } },
		  { { 0x100, SP(16) }, { 0x110, SP(32) }, { 0x120, NONE } },
		  3 },
		{ "of no length",
		  { { 0x100, 0 }, { 0x104, 8 } },
		  { { 0x104, SP(32) }, { 0x10c, NONE } },
		  2 },
		{ "of code that was dropped",
		  { { -TEXT, 0x20 }, { 0x100, 0x10 }, { 0x5000, 8 } },
		  { { 0x100, SP(32) }, { 0x110, NONE } },
		  2 },
		{ "beyond the code's end",
		  { { TEXT_LEN - 8, 0x100 } },
		  { { TEXT_LEN - 8, SP(16) }, { TEXT_LEN, NONE } },
		  2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct section s = usual_section();
		struct cfi_input in;

		for (size_t j = 0; j < 3; j++)
			put_fde(&s, cases[i].fdes[j].start, cases[i].fdes[j].len,
				BYTES(DW_CFA_def_cfa_offset, (uint8_t)(16 * (j + 1))));
		in = input_of(&s);
		rows = compile(&in);
		assert_rows(rows, cases[i].rows, cases[i].n, cases[i].what);
	}
}

static void debug_frame_fills_the_gaps_of_eh_frame(void **state)
{
	static const struct wanted wanted[] = { { START - 16, SP(40) },
						{ START, SP(8) },
						{ START + LEN, SP(40) },
						{ START + LEN + 16, NONE } };
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	struct section s = usual_section(), debug = { .len = 0 };
	struct cfi_input in;

	(void)state;
	put_fde(&s, START, LEN, NULL, 0);
	put_debug_entries(&debug, 3, false, TEXT + START - 16, LEN + 32, 40);
	in = input_of(&s);
	in.debug_frame = (struct cfi_bytes){ debug.bytes, debug.len, 0 };
	rows = compile(&in);
	assert_rows(rows, wanted, 4, "both sections");
}

/* .debug_frame describes both functions as one, and is not asked: nothing lies between them. */
static void neighbours_leave_no_gap_to_fill(void **state)
{
	static const struct wanted wanted[] = { { START, SP(16) },
						{ START + LEN, UNSUPPORTED },
						{ START + 2 * LEN, SP(40) },
						{ START + 3 * LEN, NONE } };
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	struct section s = usual_section(), debug = { .len = 0 };
	struct cfi_input in;

	(void)state;
	put_fde(&s, START, LEN, BYTES(DW_CFA_def_cfa_offset, 16));
	put_fde(&s, START + LEN, LEN,
		BYTES(DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 24,
		      DW_CFA_advance_loc | 1, 0x3f));
	put_debug_entries(&debug, 3, false, TEXT + START, 3 * LEN, 40);
	in = input_of(&s);
	in.debug_frame = (struct cfi_bytes){ debug.bytes, debug.len, 0 };
	rows = compile(&in);
	assert_rows(rows, wanted, 4, "neighbours");
}

static void the_stack_ends_at_an_entry_without_information(void **state)
{
	static const struct {
		uint64_t entry, end;
		struct wanted rows[4];
		size_t n;
	} cases[] = {
		{ TEXT + 0x80,
		  TEXT + 0xa0,
		  { { 0x80, END }, { 0xa0, NONE }, { START, SP(8) }, BEHIND },
		  4 },
		{ TEXT + 0xf0, TEXT + 0x130, { { 0xf0, END }, { START, SP(8) }, BEHIND }, 3 },
		{ TEXT + START + 8, TEXT + START + 80, { { START, SP(8) }, BEHIND }, 2 },
		{ TEXT + START + LEN,
		  TEXT + START + LEN + 8,
		  { { START, SP(8) }, { START + LEN, END }, { START + LEN + 8, NONE } },
		  3 },
		{ TEXT + TEXT_LEN + 8, TEXT + TEXT_LEN + 16, { { START, SP(8) }, BEHIND }, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct section s = usual_section();
		struct cfi_input in;

		put_fde(&s, START, LEN, NULL, 0);
		in = input_of(&s);
		in.entry = cases[i].entry;
		in.entry_end = cases[i].end;
		rows = compile(&in);
		assert_rows(rows, cases[i].rows, cases[i].n, "entry");
	}
}

static void a_signal_return_is_told_by_its_code(void **state)
{
	static const uint8_t rax[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t eax[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };
	static const struct wanted wanted[] = { { 0x1f, SIGNAL(40) },  { 0x29, NONE },
						{ 0x3f, SIGNAL(40) },  { 0x47, NONE },
						{ START, SIGNAL(40) }, { START + LEN, NONE } };
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	struct section none = { .len = 0 }, debug = { .len = 0 };
	struct cfi_input in = input_of(&none);
	uint8_t code[TEXT_LEN] = { 0 };
	struct cfi_bytes text = { code, sizeof(code), TEXT };

	(void)state;
	memcpy(code + 0x20, rax, sizeof(rax));
	memcpy(code + 0x40, eax, sizeof(eax));
	memcpy(code + START, rax, sizeof(rax)); /* described as if it were called */
	memcpy(code + TEXT_LEN - 8, rax, 8);	/* cut off */
	put_debug_entries(&debug, 3, false, TEXT + START, LEN, 16);
	in.text = &text;
	in.debug_frame = (struct cfi_bytes){ debug.bytes, debug.len, 0 };
	rows = compile(&in);
	assert_rows(rows, wanted, 6, "signal returns");
}

static void stubs_are_told_by_their_code(void **state)
{
	static const struct {
		size_t at;
		uint8_t code[16];
	} stubs[] = {
		{ 0x20, { 0xff, 0x25, 1, 2, 3, 4, 0x66, 0x90 } },
		{ 0x28, { 0xff, 0x25, 5, 6, 7, 8, 0x66, 0x90 } },
		{ 0x40,
		  { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 2, 3, 4, 0x66, 0x0f, 0x1f, 0x44 } },
		{ 0x60,
		  { 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1, 2, 3, 4, 0x0f, 0x1f, 0x44 } },
		{ 0x80, { 0xff, 0x25, 1, 2, 3, 4, 0x68, 5, 0, 0, 0, 0xe9, 6, 7, 8, 9 } },
		/* a jump within other code, and one at an address where linkers put none */
		{ 0xa0, { 0xff, 0x25, 1, 2, 3, 4, 0x48, 0x89 } },
		{ 0xc4, { 0xff, 0x25, 1, 2, 3, 4, 0x66, 0x90 } },
		/* cut off */
		{ TEXT_LEN - 8, { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 2 } },
	};
	static const struct wanted wanted[] = { { 0x20, SP(8) }, { 0x30, NONE },  { 0x40, SP(8) },
						{ 0x50, NONE },	 { 0x60, SP(8) }, { 0x70, NONE },
						{ 0x80, SP(8) }, { 0x90, NONE } };
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	uint8_t code[TEXT_LEN + 16] = { 0 };
	struct cfi_bytes text = { code, TEXT_LEN, TEXT };
	struct section none = { .len = 0 };
	struct cfi_input in = input_of(&none);

	(void)state;
	for (size_t i = 0; i < sizeof(stubs) / sizeof(stubs[0]); i++)
		memcpy(code + stubs[i].at, stubs[i].code, sizeof(stubs[i].code));
	in.text = &text;
	rows = compile(&in);
	assert_rows(rows, wanted, 8, "stubs");
}

#define CLONED                                                                                     \
	{                                                                                          \
		.kind = ABI_UNWIND_CLONED, .offset = 8                                             \
	}

/* Information ends in front of the system call. */
static void a_clone_is_told_by_its_code(void **state)
{
	static const struct {
		uint8_t number[5]; /* mov $nr,%eax */
		uint8_t code[16];  /* behind it */
		size_t len;	   /* 0: it is none */
	} cases[] = {
		/* glibc's clone3: syscall; test %rax,%rax; jl; je; ret */
		{ { 0xb8, 0xb3, 1 },
		  { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x18, 0x74, 0x01, 0xc3 },
		  10 },
		/* clone, with a jump of 32 bits */
		{ { 0xb8, 56 },
		  { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x0f, 0x8c, 1, 2, 3, 4, 0x74, 0x01, 0xc3 },
		  14 },
		/* no ret: what follows is the new thread's */
		{ { 0xb8, 56 }, { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x74, 0x01, 0x90 }, 7 },
		/* another call, and one whose result is not looked at */
		{ { 0xb8, 57 }, { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x18, 0xc3 }, 0 },
		{ { 0xb8, 56 }, { 0x0f, 0x05, 0x48, 0x89, 0xc0, 0x7c, 0x18, 0xc3 }, 0 },
	};
	uint8_t code[TEXT_LEN];
	struct cfi_bytes text = { code, sizeof(code), TEXT };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct wanted wanted[] = { { START, SP(8) },
						 { START + LEN, CLONED },
						 { START + LEN + (uint32_t)cases[i].len, NONE } };
		static const struct wanted plain[] = { { START, SP(8) }, BEHIND };
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct section s = usual_section();
		struct cfi_input in;

		memset(code, 0, sizeof(code));
		memcpy(code + START + LEN - 5, cases[i].number, 5);
		memcpy(code + START + LEN, cases[i].code, sizeof(cases[i].code));
		put_fde(&s, START, LEN, NULL, 0);
		in = input_of(&s);
		in.text = &text;
		rows = compile(&in);
		assert_rows(rows, cases[i].len ? wanted : plain, cases[i].len ? 3 : 2, "clone");
	}
}

static void a_function_that_leaves_its_stack_is_where_one_begins(void **state)
{
	static const struct {
		uint8_t code[3];
		bool begins;
	} cases[] = {
		{ { 0x48, 0x89, 0xdc }, true },	 /* mov %rbx,%rsp */
		{ { 0x4c, 0x89, 0xe4 }, true },	 /* mov %r12,%rsp */
		{ { 0x48, 0x89, 0xe3 }, false }, /* mov %rsp,%rbx */
		{ { 0x48, 0x8b, 0xdc }, false }, /* mov %rsp,%rbx, the other way to write it */
	};
	static const struct wanted begins[] = { { START - 1, END }, { START, SP(8) }, BEHIND };
	static const struct wanted plain[] = { { START, SP(8) }, BEHIND };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct section s = usual_section();
		uint8_t code[TEXT_LEN] = { 0 };
		struct cfi_bytes text = { code, sizeof(code), TEXT };
		struct cfi_input in;

		memcpy(code + START, cases[i].code, sizeof(cases[i].code));
		put_fde(&s, START, LEN, NULL, 0);
		in = input_of(&s);
		in.text = &text;
		rows = compile(&in);
		if (cases[i].begins)
			assert_rows(rows, begins, 3, "it is returned to");
		else
			assert_rows(rows, plain, 2, "it is called");
	}
}

static void code_out_of_reach_is_an_error(void **state)
{
	static const struct {
		uint64_t addr, base;
		size_t len;
		int error;
	} cases[] = {

		{ 0xffffefff, 0, 0x1000, 0 },
		{ 0xffffffff, 0, 1, -E2BIG },
		{ 0x100001000, 0, 0x1000, -E2BIG },
		{ 0x1000, 0x2000, 0x1000, -E2BIG },
		{ UINT64_MAX - 1, UINT64_MAX - 0x1000, 0x1000, -E2BIG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		struct cfi_bytes text = { NULL, cases[i].len, cases[i].addr };
		struct cfi_input in = { .text = &text, .n_text = 1, .base = cases[i].base };

		assert_int_equal(cfi_compile(&in, &rows), cases[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(augmentations_are_understood_or_passed_over),
		cmocka_unit_test(addresses_are_read_in_each_encoding),
		cmocka_unit_test(leb128_addresses_are_read),
		cmocka_unit_test(debug_frame_of_all_versions_is_read),
		cmocka_unit_test(cies_of_other_machines_and_versions_are_not),
		cmocka_unit_test(a_length_of_64_bits_leaves_eh_frame_s_ids_of_4_bytes),
		cmocka_unit_test(nothing_is_read_behind_the_terminator),
		cmocka_unit_test(a_damaged_entry_costs_no_other),
		cmocka_unit_test(the_entry_that_starts_first_wins),
		cmocka_unit_test(debug_frame_fills_the_gaps_of_eh_frame),
		cmocka_unit_test(neighbours_leave_no_gap_to_fill),
		cmocka_unit_test(the_stack_ends_at_an_entry_without_information),
		cmocka_unit_test(a_signal_return_is_told_by_its_code),
		cmocka_unit_test(stubs_are_told_by_their_code),
		cmocka_unit_test(a_clone_is_told_by_its_code),
		cmocka_unit_test(a_function_that_leaves_its_stack_is_where_one_begins),
		cmocka_unit_test(code_out_of_reach_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
