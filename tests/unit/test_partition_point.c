/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define MOST 17

static void the_first_that_is_not_before_is_found_at_every_place(void **state)
{
	int values[MOST];

	(void)state;
	for (size_t n = 0; n <= MOST; n++)
		for (size_t place = 0; place <= n; place++) {
			for (size_t i = 0; i < n; i++)
				values[i] = i < place ? -1 : 1;
			assert_int_equal(partition_point(n, i, values[i] < 0), place);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_is_not_before_is_found_at_every_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
