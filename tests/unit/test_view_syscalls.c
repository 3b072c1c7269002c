/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_syscalls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void p99_is_exceeded_by_one_in_a_hundred_at_most(void **state)
{
	static const struct {
		uint64_t counts[3]; /* of 64 to 72, 72 to 80, 80 and more */
		uint64_t max_ns, p99_ns;
	} cases[] = {
		{ { 0, 0, 0 }, 0, 0 },
		{ { 1, 0, 0 }, 70, 70 },       /* no longer than the longest */
		{ { 99, 1, 0 }, 79, 72 },      /* one of a hundred is longer */
		{ { 98, 2, 0 }, 79, 79 },      /* two are */
		{ { 98, 1, 1 }, 500, 80 },     /* one is longer than 80 */
		{ { 50, 0, 50 }, 500, 500 },   /* open end: the longest */
		{ { 198, 2, 0 }, 79, 72 },     /* two of two hundred */
		{ { 150, 0, 1 }, 900000, 72 }, /* one of 151 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_bucket buckets[3] = {
			{ 64, 72, cases[i].counts[0] },
			{ 72, 80, cases[i].counts[1] },
			{ 80, INT64_MAX, cases[i].counts[2] },
		};

		assert_int_equal(view_p99_ns(buckets, 3, cases[i].max_ns), cases[i].p99_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p99_is_exceeded_by_one_in_a_hundred_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
