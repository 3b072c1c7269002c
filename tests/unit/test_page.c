/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void sizes_are_rounded_to_pages_of_the_kernel(void **state)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	(void)state;
	assert_int_equal(page_round_up(0), 0);
	assert_int_equal(page_round_up(1), page);
	assert_int_equal(page_round_up(page), page);
	assert_int_equal(page_round_up(page + 1), 2 * page);
	assert_int_equal(page_round_down(page - 1), 0);
	assert_int_equal(page_round_down(2 * page - 1), page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_rounded_to_pages_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
