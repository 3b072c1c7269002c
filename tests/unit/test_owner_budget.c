/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the files of an owner may keep workers busy, by a clock of the test's own. */
#include "sandbox/owner_budget.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct file_owner own = { .mount = 1, .dev = 1, .uid = 0 };

/* Seconds that are used one after the other, as far as they are allowed, until the end. */
static uint64_t use_all(struct owner_budgets *budgets, const struct file_owner *owner,
			uint64_t *now_ns, uint64_t end_ns)
{
	uint64_t used = 0;

	while (*now_ns < end_ns) {
		if (owner_budgets_allow(budgets, owner, *now_ns)) {
			*now_ns += SECOND_NS;
			owner_budgets_charge(budgets, owner, SECOND_NS, *now_ns);
			used++;
		} else {
			*now_ns += SECOND_NS / 10;
		}
	}
	return used;
}

static void an_owner_has_a_burst_and_then_a_share(void **state)
{
	static struct owner_budgets budgets;
	const struct file_owner owner = { .mount = 2, .dev = 1, .uid = 1000 };
	uint64_t now = 5 * SECOND_NS, begin;

	(void)state;
	owner_budgets_init(&budgets, &own, now);
	begin = now;
	assert_in_range(use_all(&budgets, &owner, &now, begin + 30 * SECOND_NS), 15, 18);
	begin = now;
	assert_in_range(use_all(&budgets, &owner, &now, begin + 1000 * SECOND_NS), 45, 55);
	/* All comes back, and no more than all. */
	now += 100000 * SECOND_NS;
	begin = now;
	assert_in_range(use_all(&budgets, &owner, &now, begin + 30 * SECOND_NS), 15, 18);
}

static void others_are_not_charged(void **state)
{
	static struct owner_budgets budgets;
	const struct file_owner a = { .mount = 2, .dev = 1, .uid = 1000 },
				b = { .mount = 2, .dev = 1, .uid = 1001 };

	(void)state;
	owner_budgets_init(&budgets, &own, 1);
	owner_budgets_charge(&budgets, &a, 20 * SECOND_NS, 1);
	assert_false(owner_budgets_allow(&budgets, &a, 1));
	assert_true(owner_budgets_allow(&budgets, &b, 1));
}

static void one_request_may_use_more_than_is_left_and_is_paid_back(void **state)
{
	static struct owner_budgets budgets;
	const struct file_owner owner = { .uid = 1000 };

	(void)state;
	owner_budgets_init(&budgets, &own, 1);
	owner_budgets_charge(&budgets, &owner, 14 * SECOND_NS, 1);
	assert_true(owner_budgets_allow(&budgets, &owner, 1));
	owner_budgets_charge(&budgets, &owner, 40 * SECOND_NS, 1);
	assert_false(owner_budgets_allow(&budgets, &owner, 1 + 39 * 20 * SECOND_NS));
	assert_true(owner_budgets_allow(&budgets, &owner, 1 + 40 * 20 * SECOND_NS));
}

/* In a namespace of his own a user makes mounts as he likes. */
static void a_users_mounts_are_one_owner(void **state)
{
	static struct owner_budgets budgets;
	struct file_owner owner = { .uid = 1000 };

	(void)state;
	owner_budgets_init(&budgets, &own, 1);
	for (int i = 0; i < 20; i++) {
		owner.mount = owner.dev = (uint64_t)i;
		owner_budgets_charge(&budgets, &owner, SECOND_NS, 1);
	}
	owner.mount = 100;
	assert_false(owner_budgets_allow(&budgets, &owner, 1));
}

static void our_own_user_has_more_on_each_mount(void **state)
{
	static struct owner_budgets budgets;
	struct file_owner owner = { .mount = 2, .uid = 0 };
	uint64_t now = 1;

	(void)state;
	owner_budgets_init(&budgets, &own, now);
	assert_in_range(use_all(&budgets, &owner, &now, 400 * SECOND_NS), 190, 220);
	owner.mount = 3;
	assert_true(owner_budgets_allow(&budgets, &owner, now));
	/* What others may write is theirs. */
	owner.is_anybody = true;
	owner_budgets_charge(&budgets, &owner, 20 * SECOND_NS, now);
	assert_false(owner_budgets_allow(&budgets, &owner, now));
}

/* A user may have 65,536 uids. */
static void all_together_have_a_share_as_well(void **state)
{
	static struct owner_budgets budgets;
	const struct file_owner root = { .mount = 2, .uid = 0 };
	uint64_t now = 1, used = 0;

	(void)state;
	owner_budgets_init(&budgets, &own, now);
	for (uint32_t uid = 100000; now < 1000 * SECOND_NS; uid++) {
		const struct file_owner owner = { .uid = uid };

		if (owner_budgets_allow(&budgets, &owner, now)) {
			now += SECOND_NS;
			owner_budgets_charge(&budgets, &owner, SECOND_NS, now);
			used++;
		} else {
			now += SECOND_NS / 10;
		}
	}
	assert_in_range(used, 500, 600);
	assert_true(owner_budgets_allow(&budgets, &root, now));
}

/* Of more owners than are known those are forgotten that have used least. */
static void who_has_used_most_is_remembered(void **state)
{
	static struct owner_budgets budgets;
	const struct file_owner greedy = { .uid = 999 };

	(void)state;
	owner_budgets_init(&budgets, &own, 1);
	owner_budgets_charge(&budgets, &greedy, 20 * SECOND_NS, 1);
	for (uint32_t uid = 1000; uid < 1000 + 10 * OWNER_BUDGETS_MOST; uid++) {
		const struct file_owner owner = { .uid = uid };

		owner_budgets_charge(&budgets, &owner, SECOND_NS / 1000, 1);
	}
	assert_false(owner_budgets_allow(&budgets, &greedy, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_owner_has_a_burst_and_then_a_share),
		cmocka_unit_test(others_are_not_charged),
		cmocka_unit_test(one_request_may_use_more_than_is_left_and_is_paid_back),
		cmocka_unit_test(a_users_mounts_are_one_owner),
		cmocka_unit_test(our_own_user_has_more_on_each_mount),
		cmocka_unit_test(all_together_have_a_share_as_well),
		cmocka_unit_test(who_has_used_most_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
