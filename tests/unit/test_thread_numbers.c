/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of threads: the newest of many stay known. */
#include "service/leak/heap_error_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void the_first_thread_is_1_and_others_are_as_told(void **state)
{
	struct thread_numbers numbers = { 0 };

	(void)state;
	assert_int_equal(thread_numbers_find(&numbers, 7, 7), 1);
	assert_int_equal(thread_numbers_find(&numbers, 7, 8), 0);
	assert_int_equal(thread_numbers_add(&numbers, 7, 8, 2), 0);
	assert_int_equal(thread_numbers_add(&numbers, 9, 8, 3), 0);
	assert_int_equal(thread_numbers_find(&numbers, 7, 8), 2);
	assert_int_equal(thread_numbers_add(&numbers, 7, 8, 5), 0);
	assert_int_equal(thread_numbers_find(&numbers, 7, 8), 5);
	assert_int_equal(thread_numbers_find(&numbers, 9, 8), 3);
	thread_numbers_done(&numbers);
}

static void of_too_many_the_oldest_are_forgotten(void **state)
{
	struct thread_numbers numbers = { 0 };
	const pid_t n = 100000, kept = 65536;

	(void)state;
	for (pid_t i = 2; i <= n; i++)
		assert_int_equal(thread_numbers_add(&numbers, 1, i, (uint32_t)i), 0);
	assert_int_equal(thread_numbers_find(&numbers, 1, n), n);
	assert_int_equal(thread_numbers_find(&numbers, 1, n - kept + 1), n - kept + 1);
	assert_int_equal(thread_numbers_find(&numbers, 1, n - kept), 0);
	thread_numbers_done(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_thread_is_1_and_others_are_as_told),
		cmocka_unit_test(of_too_many_the_oldest_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
