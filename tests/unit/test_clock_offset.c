/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/clock_offset.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static void offsets_are_those_of_the_kernels_text(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t ns;
	} cases[] = {
		{ "monotonic           0         0\nboottime            0         0\n", 0, 0 },
		{ "monotonic        5000        12\nboottime            7         0\n", 0,
		  5000000000012 },
		{ "monotonic          -3 500000000\nboottime            0         0\n", 0,
		  -2500000000 },
		{ "boottime            1         0\n", -EBADMSG, 0 },
		{ "monotonic 9223372036854775807 0\n", -EBADMSG, 0 },
		{ "monotonic 1 1000000000\n", -EBADMSG, 0 },
		{ "monotonic 1\n", -EBADMSG, 0 },
		{ "", -EBADMSG, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns = 0;

		assert_int_equal(clock_offset_parse(cases[i].text, &ns), cases[i].r);
		assert_int_equal(ns, cases[i].ns);
	}
}

static void ours_is_none(void **state)
{
	int64_t ns = 1;

	(void)state;
	assert_int_equal(clock_offset_of(getpid(), &ns), 0);
	assert_int_equal(ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_those_of_the_kernels_text),
		cmocka_unit_test(ours_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
