/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cfi_section.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void put(struct section *s, const void *bytes, size_t len)
{
	assert_true(s->len + len <= sizeof(s->bytes));
	if (len)
		memcpy(s->bytes + s->len, bytes, len);
	s->len += len;
}

void put_number(struct section *s, uint64_t number, size_t size)
{
	put(s, &number, size);
}

void close_entry(struct section *s, size_t start)
{
	uint32_t len = (uint32_t)(s->len - start - 4);

	memcpy(s->bytes + start, &len, sizeof(len));
}

const uint8_t usual[5] = { DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1 };

void put_cie(struct section *s, const char *augmentation, const uint8_t *data, size_t len)
{
	size_t start = s->len;

	put_number(s, 0, 4);
	put_number(s, 0, 4);
	put_number(s, 1, 1);
	put(s, augmentation, strlen(augmentation) + 1);
	put(s, BYTES(1, 0x78, 16)); /* factors 1 and -8, return address in column 16 */
	if (augmentation[0] == 'z') {
		put_number(s, len, 1);
		put(s, data, len);
	}
	put(s, usual, sizeof(usual));
	close_entry(s, start);
}

void put_fde(struct section *s, uint32_t rel, uint32_t len, const uint8_t *program, size_t n)
{
	size_t start = s->len;

	put_number(s, 0, 4);
	put_number(s, s->len, 4);
	put_number(s, TEXT + rel - (SECTION + s->len), 4);
	put_number(s, len, 4);
	put_number(s, 0, 1); /* augmentation data */
	put(s, program, n);
	close_entry(s, start);
}

struct section usual_section(void)
{
	struct section s = { .len = 0 };

	put_cie(&s, "zR", BYTES(DW_EH_PE_pcrel | DW_EH_PE_sdata4));
	return s;
}

static const struct cfi_bytes no_code = { .addr = TEXT, .len = TEXT_LEN };

struct cfi_input input_of(const struct section *eh_frame)
{
	return (struct cfi_input){ .eh_frame = { eh_frame->bytes, eh_frame->len, SECTION },
				   .text = &no_code,
				   .n_text = 1,
				   .base = TEXT };
}

struct cfi_rows *compile(const struct cfi_input *in)
{
	struct cfi_rows *rows = NULL;

	assert_int_equal(cfi_compile(in, &rows), 0);
	assert_non_null(rows);
	assert_int_equal(rows->rows[0].pc, 0);
	assert_int_equal(rows->rules[0].kind, ABI_UNWIND_NONE);
	for (size_t i = 1; i < rows->n_rows; i++) {
		assert_true(rows->rows[i - 1].pc < rows->rows[i].pc);
		assert_int_not_equal(rows->rows[i - 1].rule, rows->rows[i].rule);
	}
	for (size_t i = 0; i < rows->n_rows; i++)
		assert_true(rows->rows[i].rule < rows->n_rules);
	return rows;
}

void assert_rows(const struct cfi_rows *rows, const struct wanted *wanted, size_t n,
		 const char *what)
{
	if (rows->n_rows != n + 1)
		fail_msg("%s: %zu rows", what, rows->n_rows - 1);
	for (size_t i = 0; i < n; i++) {
		const struct abi_unwind_row *row = &rows->rows[i + 1];

		if (row->pc != wanted[i].pc ||
		    memcmp(&rows->rules[row->rule], &wanted[i].rule, sizeof(wanted[i].rule)) != 0)
			fail_msg("%s: row %zu at %#x, kind %u offset %d rbp %u %d", what, i,
				 row->pc, rows->rules[row->rule].kind,
				 rows->rules[row->rule].offset, rows->rules[row->rule].bp,
				 rows->rules[row->rule].bp_offset);
	}
}
