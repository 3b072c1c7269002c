/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/job_counts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct strings strings;
	struct histograms histograms;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->histograms.strings = &f->strings;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	histograms_done(&f->histograms);
	strings_done(&f->strings);
	free(f);
	return 0;
}

static void announce(struct fixture *f, uint32_t id, const char *spec)
{
	const struct record_histogram record = { .id = id, .spec = spec, .unit = "bytes" };

	assert_int_equal(histograms_add(&f->histograms, &record), 0);
}

/* One group's counts: one bucket. */
static int count(struct fixture *f, uint32_t id, const char *key, uint64_t n)
{
	const struct record_bucket bucket = { 64, 128, n };

	return histograms_cut_counts(&f->histograms, &(struct record_hist_counts){
							     .id = id,
							     .key = key,
							     .n_buckets = 1,
							     .buckets = &bucket,
						     });
}

static void they_stand_in_the_order_in_which_they_were_asked_for(void **state)
{
	struct fixture *f = *state;

	announce(f, 7, "read");
	announce(f, 3, "write:count");
	assert_int_equal(f->histograms.list.len, 2);
	assert_string_equal(f->histograms.list.data[0]->asked.spec, "read");
	assert_string_equal(f->histograms.list.data[1]->asked.spec, "write:count");
	assert_int_equal(f->histograms.list.data[1]->groups.len, 0);
}

static void nothing_of_a_record_is_kept_but_copies(void **state)
{
	struct fixture *f = *state;
	char spec[] = "read", unit[] = "ns", by[] = "comm", key[] = "dd";
	struct record_bucket buckets[] = { { INT64_MIN, 0, 3 }, { 4, 8, 2 } };
	struct record_errno errors[] = { { 11, 2 }, { 4, 1 } };
	const struct model_histogram *shown;

	assert_int_equal(histograms_add(&f->histograms,
					&(struct record_histogram){ 1, spec, unit, by, true, 4 }),
			 0);
	histograms_cut_begin(&f->histograms);
	assert_int_equal(histograms_cut_counts(&f->histograms,
					       &(struct record_hist_counts){ .id = 1,
									     .key = key,
									     .n_buckets = 2,
									     .buckets = buckets,
									     .n_errors = 2,
									     .errors = errors,
									     .restarted = 5,
									     .passed_on = 6 }),
			 0);
	memset(spec, 'x', 4);
	memset(unit, 'x', 2);
	memset(by, 'x', 4);
	memset(key, 'x', 2);
	memset(buckets, 0xff, sizeof(buckets));
	memset(errors, 0xff, sizeof(errors));
	assert_int_equal(histograms_cut_end(&f->histograms), 0);

	shown = f->histograms.list.data[0];
	assert_string_equal(shown->asked.spec, "read");
	assert_string_equal(shown->asked.unit, "ns");
	assert_string_equal(shown->asked.by, "comm");
	assert_true(shown->asked.linear);
	assert_int_equal(shown->asked.step, 4);
	assert_int_equal(shown->groups.len, 1);
	assert_string_equal(shown->groups.data[0].key, "dd");
	assert_int_equal(shown->groups.data[0].n_buckets, 2);
	assert_true(shown->groups.data[0].buckets[0].lo == INT64_MIN);
	assert_int_equal(shown->groups.data[0].buckets[1].count, 2);
	assert_int_equal(shown->groups.data[0].errors[0].number, 11);
	assert_int_equal(shown->groups.data[0].errors[1].count, 1);
	assert_int_equal(shown->groups.data[0].restarted, 5);
	assert_int_equal(shown->groups.data[0].passed_on, 6);
}

static void what_cannot_be_known_is_null(void **state)
{
	struct fixture *f = *state;
	const struct model_histogram *shown;

	assert_int_equal(histograms_add(&f->histograms, &(struct record_histogram){ .id = 1 }), 0);
	histograms_cut_begin(&f->histograms);
	assert_int_equal(
		histograms_cut_counts(&f->histograms, &(struct record_hist_counts){ .id = 1 }), 0);
	assert_int_equal(histograms_cut_end(&f->histograms), 0);
	shown = f->histograms.list.data[0];
	assert_string_equal(shown->asked.spec, "");
	assert_null(shown->asked.unit);
	assert_null(shown->asked.by);
	assert_int_equal(shown->groups.len, 1);
	assert_null(shown->groups.data[0].key);
	assert_int_equal(shown->groups.data[0].n_buckets, 0);
}

static void a_cut_replaces_the_groups_that_it_names_and_no_others(void **state)
{
	struct fixture *f = *state;
	const struct model_histogram *shown;

	announce(f, 1, "read,by=comm");
	histograms_cut_begin(&f->histograms);
	assert_int_equal(count(f, 1, "cat", 10), 0);
	assert_int_equal(count(f, 1, "dd", 20), 0);
	assert_int_equal(histograms_cut_end(&f->histograms), 0);
	histograms_cut_begin(&f->histograms);
	assert_int_equal(count(f, 1, "dd", 25), 0);
	assert_int_equal(count(f, 1, "sh", 1), 0);
	assert_int_equal(histograms_cut_end(&f->histograms), 0);

	shown = f->histograms.list.data[0];
	assert_int_equal(shown->groups.len, 3);
	assert_string_equal(shown->groups.data[0].key, "cat");
	assert_int_equal(shown->groups.data[0].buckets[0].count, 10);
	assert_string_equal(shown->groups.data[1].key, "dd");
	assert_int_equal(shown->groups.data[1].buckets[0].count, 25);
	assert_string_equal(shown->groups.data[2].key, "sh");
}

static void equal_keys_of_two_histograms_are_two_groups(void **state)
{
	struct fixture *f = *state;

	announce(f, 1, "read,by=comm");
	announce(f, 2, "write,by=comm");
	histograms_cut_begin(&f->histograms);
	assert_int_equal(count(f, 1, "dd", 10), 0);
	assert_int_equal(count(f, 2, "dd", 20), 0);
	assert_int_equal(histograms_cut_end(&f->histograms), 0);
	assert_int_equal(f->histograms.list.data[0]->groups.data[0].buckets[0].count, 10);
	assert_int_equal(f->histograms.list.data[1]->groups.data[0].buckets[0].count, 20);
}

static void a_cut_that_does_not_end_changes_nothing(void **state)
{
	struct fixture *f = *state;

	announce(f, 1, "read");
	histograms_cut_begin(&f->histograms);
	assert_int_equal(count(f, 1, NULL, 10), 0);
	assert_int_equal(histograms_cut_end(&f->histograms), 0);
	histograms_cut_begin(&f->histograms);
	assert_int_equal(count(f, 1, NULL, 99), 0);
	assert_int_equal(f->histograms.list.data[0]->groups.data[0].buckets[0].count, 10);
	histograms_cut_begin(&f->histograms);
	assert_int_equal(histograms_cut_end(&f->histograms), 0);
	assert_int_equal(f->histograms.list.data[0]->groups.data[0].buckets[0].count, 10);
}

static void unknown_and_repeated_ids_are_refused(void **state)
{
	struct fixture *f = *state;

	announce(f, 1, "read");
	assert_int_equal(histograms_add(&f->histograms, &(struct record_histogram){ .id = 1 }),
			 -EPROTO);
	assert_int_equal(f->histograms.list.len, 1);
	histograms_cut_begin(&f->histograms);
	assert_int_equal(count(f, 2, NULL, 1), -EPROTO);
	assert_int_equal(histograms_cut_end(&f->histograms), 0);
	assert_int_equal(f->histograms.list.data[0]->groups.len, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(they_stand_in_the_order_in_which_they_were_asked_for),
		TEST(nothing_of_a_record_is_kept_but_copies),
		TEST(what_cannot_be_known_is_null),
		TEST(a_cut_replaces_the_groups_that_it_names_and_no_others),
		TEST(equal_keys_of_two_histograms_are_two_groups),
		TEST(a_cut_that_does_not_end_changes_nothing),
		TEST(unknown_and_repeated_ids_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
