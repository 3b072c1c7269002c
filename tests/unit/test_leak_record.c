/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results of leak checks become records, and records results again. */
#include "report/leak/leak_result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct record_leak_sum sums[] = {
	{ "definite", 1, 10 },	{ "indirect", 2, 20 },	 { "possible", 3, 30 },
	{ "reachable", 4, 40 }, { "suppressed", 5, 50 },
};
static const struct record_leak_place places[] = { { 1ull << 63, 7, 0 }, { 6, 8, 3 } };
static const struct record_leaks leaks = {
	.image = { 3 },
	.number = 2,
	.errors = 9,
	.complete = true,
	.stopped_ns = 1000,
	.running_threads = 1,
	.unknown_blocks = true,
	.older_blocks = true,
	.n_sums = 5,
	.sums = sums,
	.n_places = 2,
	.places = places,
};

static int expect_the_same(const struct record *record, void *userdata)
{
	const struct record_leaks *found = &record->leaks;
	int *n = userdata;

	(*n)++;
	assert_int_equal(record->type, RECORD_LEAKS);
	assert_int_equal(found->image.n, 3);
	assert_int_equal(found->number, 2);
	assert_int_equal(found->errors, 9);
	assert_true(found->complete && found->unknown_blocks && found->older_blocks);
	assert_int_equal(found->stopped_ns, 1000);
	assert_int_equal(found->running_threads, 1);
	assert_int_equal(found->n_sums, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(found->sums[i].name, sums[i].name);
		assert_int_equal(found->sums[i].blocks, sums[i].blocks);
		assert_int_equal(found->sums[i].bytes, sums[i].bytes);
	}
	assert_int_equal(found->n_places, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(found->places[i].stack, places[i].stack);
		assert_int_equal(found->places[i].fn, places[i].fn);
		assert_int_equal(found->places[i].class, places[i].class);
	}
	return 0;
}

static void what_is_read_is_written_again(void **state)
{
	_cleanup_(leak_result_free_p) struct leak_result *result = NULL;
	int n = 0;

	(void)state;
	assert_int_equal(leak_record_read(&leaks, &result), 0);
	assert_int_equal(leak_record_emit(result, expect_the_same, &n), 0);
	assert_int_equal(n, 1);
}

static void what_has_no_name_is_left_out(void **state)
{
	static const struct record_leak_sum newer[] = { { "doubtful", 1, 10 },
							{ NULL, 2, 20 },
							{ "possible", 3, 30 } };
	static const struct record_leak_place strange[] = { { 1, 2, 9 }, { 3, 4, 1 } };
	static const struct record_leaks record = {
		.n_sums = 3, .sums = newer, .n_places = 2, .places = strange
	};
	_cleanup_(leak_result_free_p) struct leak_result *result = NULL;
	const struct loss_totals *totals;

	(void)state;
	assert_int_equal(leak_record_read(&record, &result), 0);
	totals = loss_records_totals(result->records);
	for (int class = 0; class < REACH_CLASSES; class ++)
		assert_int_equal(totals->classes[class].blocks, class == REACH_POSSIBLE ? 3 : 0);
	assert_int_equal(totals->suppressed.blocks, 0);
	assert_int_equal(result->n_places, 1);
	assert_int_equal(result->places[0].stack, 3);
	assert_int_equal(result->classes[0], REACH_INDIRECT);
	assert_int_not_equal(result->seen.stats.end, REACH_COMPLETE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_is_written_again),
		cmocka_unit_test(what_has_no_name_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
