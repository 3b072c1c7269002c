/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/code/code_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void what_stood_before_did_so_until_the_first_change(void **state)
{
	struct code_times times = { 0 };

	(void)state;
	code_times_changed(&times, 10);
	code_times_changed(&times, 30);
	code_times_read(&times, 40);
	assert_int_equal(code_times_gone_ns(&times), 10);
	assert_int_equal(code_times_came_ns(&times, true, 5), 30);
}

static void a_change_from_before_the_reading_may_be_told_after_it(void **state)
{
	struct code_times times = { 0 };

	(void)state;
	code_times_changed(&times, 10);
	code_times_read(&times, 40);
	assert_int_equal(code_times_came_ns(&times, false, 5), 40);
	code_times_changed(&times, 30);
	code_times_changed(&times, 50);
	assert_int_equal(code_times_gone_ns(&times), 10);
	assert_int_equal(code_times_came_ns(&times, true, 5), 30);
	code_times_read(&times, 60);
	assert_int_equal(code_times_gone_ns(&times), 50);
	assert_int_equal(code_times_came_ns(&times, true, 5), 50);
}

static void without_a_change_it_is_who_asked_that_knows(void **state)
{
	struct code_times times = { 0 };

	(void)state;
	code_times_read(&times, 40);
	assert_int_equal(code_times_gone_ns(&times), 40);
	assert_int_equal(code_times_came_ns(&times, true, 5), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stood_before_did_so_until_the_first_change),
		cmocka_unit_test(a_change_from_before_the_reading_may_be_told_after_it),
		cmocka_unit_test(without_a_change_it_is_who_asked_that_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
