/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/near_name.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void the_distance_counts_slips_and_swaps(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned int distance;
	} cases[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "top", "top", 0 },
		{ "tpo", "top", 1 },
		{ "otp", "top", 1 },
		{ "to", "top", 1 },
		{ "topp", "top", 1 },
		{ "tap", "top", 1 },
		{ "kitten", "sitting", 3 },
		{ "ca", "abc", 3 }, /* a swapped pair is not edited again */
		{ "min-siez", "min-size", 1 },
		{ "abcdef", "badcfe", 3 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		assert_int_equal(name_distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(name_distance(cases[i].b, cases[i].a), cases[i].distance);
	}
}

static void overlong_names_are_far_from_everything(void **state)
{
	char name[65] = { 0 };

	(void)state;
	memset(name, 'n', 63);
	assert_int_equal(name_distance(name, name), 0);
	name[63] = 'n';
	assert_int_equal(name_distance(name, name), UINT_MAX);
	assert_int_equal(name_distance("n", name), UINT_MAX);
}

static void the_nearest_name_or_the_only_completion_is_meant(void **state)
{
	static const char *const names[] = { "min-size", "max-size", "max-blocks", "sort", "json" };
	static const struct {
		const char *word;
		const char *meant;
	} cases[] = {
		{ "sotr", "sort" },
		{ "srt", "sort" },
		{ "srrr", NULL }, /* two slips in four letters */
		{ "mim-sise", "min-size" },
		{ "min", "min-size" },
		{ "max", NULL }, /* begins two */
		{ "mi", NULL },	 /* too short to complete */
		{ "max-b", "max-blocks" },
		{ "", NULL },
		{ "cgroup", NULL },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct near_name near;
		const char *meant;

		near_name_init(&near, cases[i].word);
		for (size_t n = 0; n < N_ELEMENTS(names); n++)
			near_name_offer(&near, names[n]);
		meant = near_name_get(&near);
		if (!cases[i].meant)
			assert_null(meant);
		else if (!meant)
			fail_msg("nothing is meant by '%s'", cases[i].word);
		else
			assert_string_equal(meant, cases[i].meant);
	}
}

static void the_nearest_of_many_come_first_then_what_the_word_is_part_of(void **state)
{
	static const char *const names[] = { "write",  "pread64",   "process_vm_readv",
					     "preadv", "readlink",  "read",
					     "readv",  "readahead", "creat",
					     "bread" };
	static const struct {
		const char *word;
		const char *near[NEAR_NAMES];
	} cases[] = {
		{ "raed", { "read" } },
		{ "read", { "read", "bread", "readv" } },
		{ "reads", { "read", "readv" } },
		{ "readl", { "read", "readv", "readlink" } },
		{ "pread", { "read", "bread", "preadv" } },
		{ "vm_", { "process_vm_readv" } },
		{ "socket", { NULL } },
		{ "", { NULL } },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct near_names near;
		size_t n = 0;

		near_names_init(&near, cases[i].word);
		for (size_t k = 0; k < N_ELEMENTS(names); k++)
			near_names_offer(&near, names[k], names[k]);
		while (n < NEAR_NAMES && cases[i].near[n])
			n++;
		if (near.n != n)
			fail_msg("%zu names are near '%s'", near.n, cases[i].word);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(near.best[k].shown, cases[i].near[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_distance_counts_slips_and_swaps),
		cmocka_unit_test(overlong_names_are_far_from_everything),
		cmocka_unit_test(the_nearest_name_or_the_only_completion_is_meant),
		cmocka_unit_test(the_nearest_of_many_come_first_then_what_the_word_is_part_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
