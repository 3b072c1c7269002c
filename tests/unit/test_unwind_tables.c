/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tables say of an address: mappings, rows, and what is to be believed of them. */
#include "tests/unit/unwind_fixture.h"

/* It may be mapped, and known, at the next walk. */
static void that_an_address_is_in_no_mapping_is_not_kept(void **state)
{
	(void)state;
	walk(LATE_CODE + 64 * 3 + 8, STACK, 0);
	assert_cut(ABI_CUT_NO_MAPPING);
	rule(3, ABI_UNWIND_END, 0, 0, 0);
	host_append(&f.host, LATE_CODE, 4096, 1);
	walk(LATE_CODE + 64 * 3 + 8, STACK, 0);
	assert_cut(ABI_CUT_NONE);
	assert_int_equal(f.scratch.ev.frames, 1);
}

/* Walks anew, with an empty cache: as after a change of the code epoch. */
static enum abi_stack_cut cut_at(uint64_t pc)
{
	host_use(&f.host);
	walk(pc, STACK, 0);
	return ABI_STACK_CUT(f.scratch.ev.flags);
}

static void the_newest_mapping_of_an_address_decides(void **state)
{
	(void)state;
	rule(3, ABI_UNWIND_END, 0, 0, 0);
	assert_int_equal(cut_at(RETURN_TO(3)), ABI_CUT_NONE);
	host_append(&f.host, FUNCTION(3), 64, 0);
	assert_int_equal(cut_at(RETURN_TO(3)), ABI_CUT_NO_MAPPING);
	host_append(&f.host, FUNCTION(3), 64, 2);
	assert_int_equal(cut_at(RETURN_TO(3)), ABI_CUT_NO_CFI);
	/* merged: the sorted ones are as new */
	f.host.sorted = ABI_UNWIND_SORTED(0, 2, 2);
	assert_int_equal(cut_at(RETURN_TO(3)), ABI_CUT_NONE);
	/* being written */
	host_append(&f.host, FUNCTION(3), 64, 2);
	f.host.space.recent[3].number = 0;
	assert_int_equal(cut_at(RETURN_TO(3)), ABI_CUT_NONE);
}

static void what_the_ring_of_mappings_has_lost_is_in_no_mapping(void **state)
{
	(void)state;
	rule(3, ABI_UNWIND_END, 0, 0, 0);
	rule(4, ABI_UNWIND_END, 0, 0, 0);
	for (uint32_t i = 0; i <= ABI_UNWIND_RECENT; i++)
		host_append(&f.host, LATE_CODE + i * 4096, 4096, 1);
	f.host.space.lost = 1;
	f.host.space.lost_ranges[1].start = FUNCTION(3);
	f.host.space.lost_ranges[1].end = FUNCTION(4);
	f.host.space.n_lost = 2;
	assert_int_equal(cut_at(RETURN_TO(3)), ABI_CUT_NO_MAPPING);
	assert_int_equal(cut_at(RETURN_TO(4)), ABI_CUT_NONE);
	f.host.sorted = ABI_UNWIND_SORTED(0, 2, 1);
	assert_int_equal(cut_at(RETURN_TO(3)), ABI_CUT_NONE);
}

static void rows_of_any_number_and_chunk_are_found(void **state)
{
	(void)state;
	for (uint32_t chunk = 0; chunk < 2; chunk++) {
		for (uint32_t n = 1; n < FUNCTIONS; n = n * 2 + chunk) {
			f.host.rows = (struct host_rows){ f.rows, FUNCTIONS };
			f.host.chunk = f.host.rows;
			f.objects[1].first_row = chunk << ABI_UNWIND_CHUNK_SHIFT;
			f.objects[1].rows = n;
			for (uint32_t i = 0; i < FUNCTIONS; i++) {
				uint32_t row = i < n ? i : n - 1;

				rule(i, ABI_UNWIND_SP, 8, ABI_UNWIND_BP_SAME, 0);
				rule(row, ABI_UNWIND_END, 0, 0, 0);
				host_use(&f.host);
				walk(FUNCTION(i) + 1, STACK, 0);
				assert_cut(ABI_CUT_NONE);
				assert_int_equal(f.scratch.ev.frames, 1);
				walk(FUNCTION(i) + 64, STACK, 0);
				assert_int_equal(f.scratch.ev.frames, 1);
			}
		}
	}
}

/* Far more than a chunk has otherwise. */
static void each_row_of_a_very_large_file_is_found(void **state)
{
	enum { MANY = 5 * (ABI_UNWIND_CHUNK_ROWS / 2) + 3 };
	struct abi_unwind_row *rows = calloc(MANY, sizeof(*rows));

	(void)state;
	assert_non_null(rows);
	for (uint32_t i = 0; i < MANY; i++)
		rows[i].pc = 4 * i;
	f.host.chunk = (struct host_rows){ rows, MANY };
	f.mappings[0].len = 4 * MANY;
	f.objects[1].first_row = 1U << ABI_UNWIND_CHUNK_SHIFT;
	f.objects[1].rows = MANY;
	rule(0, ABI_UNWIND_END, 0, 0, 0);
	for (uint32_t i = 0; i < MANY; i += i < MANY - 8 ? 4801 : 1) {
		assert_int_equal(cut_at(CODE + 4 * i + 1), ABI_CUT_NO_CFI);
		rows[i].rule = 1;
		assert_int_equal(cut_at(CODE + 4 * i + 1), ABI_CUT_NONE);
		assert_int_equal(cut_at(CODE + 4 * i + 4), ABI_CUT_NONE);
		rows[i].rule = 0;
	}
	free(rows);
}

static void tables_that_are_damaged_cut_the_stack(void **state)
{
	(void)state;
	f.mappings[0].object = 99;
	walk(RETURN_TO(1), STACK, 0);
	assert_cut(ABI_CUT_NO_MAPPING);
	f.mappings[0].object = 1;
	f.objects[1].first_row = 5U << ABI_UNWIND_CHUNK_SHIFT; /* no such chunk */
	walk(RETURN_TO(1), STACK, 0);
	assert_cut(ABI_CUT_NO_CFI);
	f.objects[1].first_row = 0;
	f.objects[1].rows = ~0U; /* more than there are */
	rule(FUNCTIONS - 1, ABI_UNWIND_END, 0, 0, 0);
	host_use(&f.host);
	walk(RETURN_TO(FUNCTIONS - 1), STACK, 0);
	assert_cut(ABI_CUT_NONE);
	f.rows[3].rule = 0xffff; /* no such rule */
	host_use(&f.host);
	walk(RETURN_TO(3), STACK, 0);
	assert_cut(ABI_CUT_NO_CFI);
	f.objects[1].rows = 0;
	host_use(&f.host);
	walk(RETURN_TO(3), STACK, 0);
	assert_cut(ABI_CUT_NO_CFI);
	f.host.space.slot = SLOT + 1; /* the element is another process's by now */
	host_use(&f.host);
	walk(RETURN_TO(3), STACK, 0);
	assert_cut(ABI_CUT_NO_MAPPING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(that_an_address_is_in_no_mapping_is_not_kept),
		TEST(the_newest_mapping_of_an_address_decides),
		TEST(what_the_ring_of_mappings_has_lost_is_in_no_mapping),
		TEST(rows_of_any_number_and_chunk_are_found),
		TEST(each_row_of_a_very_large_file_is_found),
		TEST(tables_that_are_damaged_cut_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
