/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/budget.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define START (100 * SECOND)

static void shares_are_of_the_time_that_was_asked_for(void **state)
{
	struct budget budget = { .most = 0.05, .cpus = 2 };
	struct budget_use use;

	(void)state;
	budget_begin(&use, START);
	assert_true(budget_used(&use) == 0);
	budget_look(&use, SECOND, START + 60 * SECOND, START + 2 * SECOND);
	assert_true(fabs(use.predicted - 0.5) < 1e-9);
	assert_true(fabs(budget_used(&use) - 1 / 60.0) < 1e-9);
	assert_false(budget_is_over(&budget, &use));
	/* It has become quiet. */
	budget_look(&use, SECOND, START + 60 * SECOND, START + 4 * SECOND);
	assert_true(use.predicted == 0);
	budget_look(&use, 3 * SECOND + 1000, START + 60 * SECOND, START + 7 * SECOND);
	assert_true(budget_is_over(&budget, &use));
	/* Somebody has asked for more of it. */
	budget_look(&use, 3 * SECOND + 1000, START + 90 * SECOND, START + 7 * SECOND);
	assert_false(budget_is_over(&budget, &use));
	budget.most = 0;
	budget_look(&use, 900 * SECOND, START + 90 * SECOND, START + 8 * SECOND);
	assert_false(budget_is_over(&budget, &use));
	budget_done(&budget);
}

static void a_look_that_comes_at_once_predicts_nothing(void **state)
{
	struct budget_use use;

	(void)state;
	budget_begin(&use, START);
	budget_look(&use, SECOND, START + 60 * SECOND, START + 2 * SECOND);
	budget_look(&use, SECOND + 1000000, START + 60 * SECOND, START + 2 * SECOND + 1000);
	assert_true(fabs(use.predicted - 0.5) < 1e-9);
	assert_int_equal(use.spent_ns, SECOND + 1000000);
}

/* Asking for ten minutes and going after a second does not buy the next second. */
static void a_process_waits_until_its_average_is_in_balance(void **state)
{
	struct budget budget = { .most = 0.05, .cpus = 2 };
	struct budget_use use;
	uint64_t now = START + SECOND;

	(void)state;
	budget_begin(&use, START);
	budget_look(&use, SECOND / 2, START + 600 * SECOND, now);
	assert_int_equal(budget_end(&budget, &use, 7, 1, false, now), 0);
	assert_int_equal(budget_wait_ns(&budget, 7, 1, false, now), 9 * SECOND);
	assert_int_equal(budget_wait_ns(&budget, 7, 2, false, now), 0);
	assert_int_equal(budget_wait_ns(&budget, 8, 1, false, now), 0);
	assert_true(fabs(budget_owed(&budget, false, now) - 0.025) < 1e-9);
	assert_int_equal(budget_wait_ns(&budget, 7, 1, false, now + 9 * SECOND), 0);
	assert_int_equal(budget.debts.len, 0);
	assert_true(budget_owed(&budget, false, now) == 0);
	budget_done(&budget);
}

static void who_stayed_below_has_nothing_to_wait_for(void **state)
{
	struct budget budget = { .most = 0.05, .cpus = 2 };
	struct budget_use use;

	(void)state;
	budget_begin(&use, START);
	budget_look(&use, SECOND / 10, START + 10 * SECOND, START + 5 * SECOND);
	assert_int_equal(budget_end(&budget, &use, 7, 1, false, START + 5 * SECOND), 0);
	assert_int_equal(budget_wait_ns(&budget, 7, 1, false, START + 5 * SECOND), 0);
	assert_int_equal(budget.debts.len, 0);
	budget_done(&budget);
}

static void users_debts_are_none_of_roots(void **state)
{
	struct budget budget = { .most = 0.05, .cpus = 2 };
	struct budget_use use;
	uint64_t now = START + SECOND;

	(void)state;
	budget_begin(&use, START);
	budget_look(&use, SECOND / 2, START + 600 * SECOND, now);
	assert_int_equal(budget_end(&budget, &use, 7, 1, false, now), 0);
	assert_int_equal(budget_wait_ns(&budget, 7, 1, false, now), 9 * SECOND);
	assert_int_equal(budget_wait_ns(&budget, 7, 1, true, now), 0);
	assert_true(budget_owed(&budget, true, now) == 0);
	/* But a user waits for root's. */
	assert_int_equal(budget_end(&budget, &use, 8, 1, true, now), 0);
	assert_int_equal(budget_wait_ns(&budget, 8, 1, false, now), 9 * SECOND);
	assert_int_equal(budget_wait_ns(&budget, 8, 1, true, now), 9 * SECOND);
	assert_true(fabs(budget_owed(&budget, true, now) - 0.025) < 1e-9);
	assert_true(fabs(budget_owed(&budget, false, now) - 0.05) < 1e-9);
	budget_done(&budget);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_of_the_time_that_was_asked_for),
		cmocka_unit_test(a_look_that_comes_at_once_predicts_nothing),
		cmocka_unit_test(a_process_waits_until_its_average_is_in_balance),
		cmocka_unit_test(who_stayed_below_has_nothing_to_wait_for),
		cmocka_unit_test(users_debts_are_none_of_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
