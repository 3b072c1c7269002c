/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/trace_slots.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MOST 8
#define SECOND UINT64_C(1000000000)

/*
 * Traces that run, the oldest first, 1 s apart: a letter is a user's, '.' a rule's, '#' root's.
 */
struct choice {
	const char *running;
	char asked;
	struct slot_limits limits;
	int expected;	   /* -EBUSY, SLOTS_FREE or an index */
	uint64_t later_ns; /* than the youngest began */
};

static struct slot slot_of(char who)
{
	return (struct slot){ .class = who == '#' ? SLOT_ROOT :
				       who == '.' ? SLOT_RULE :
						    SLOT_USER,
			      .user = (uint64_t)who };
}

static int choose(const struct choice *choice)
{
	const struct slot asked = slot_of(choice->asked);
	struct slot running[MOST];
	size_t n = strlen(choice->running);
	int victim = -99, r;

	for (size_t i = 0; i < n; i++) {
		running[i] = slot_of(choice->running[i]);
		running[i].age_ns = (n - i) * SECOND + choice->later_ns;
	}
	r = slots_choose(running, n, &choice->limits, &asked, &victim);
	return r ? r : victim;
}

static void check(const struct choice *choices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (choose(&choices[i]) != choices[i].expected)
			fail_msg("'%s' and %c: %d, not %d", choices[i].running, choices[i].asked,
				 choose(&choices[i]), choices[i].expected);
}

#define CHECK_ALL(choices) check(choices, sizeof(choices) / sizeof((choices)[0]))
#define LIMITS                                                                                     \
	{                                                                                          \
		.all = 4, .reserved = 1, .of_user = 2                                              \
	}

static void users_leave_slots_for_root_and_rules(void **state)
{
	static const struct choice choices[] = {
		{ "", 'a', LIMITS, SLOTS_FREE, 0 },
		{ "ab", 'a', LIMITS, SLOTS_FREE, 0 },
		{ "aab", 'b', LIMITS, -EBUSY, 0 },
		{ "aab", '.', LIMITS, SLOTS_FREE, 0 },
		{ "aab", '#', LIMITS, SLOTS_FREE, 0 },
		/* one slot is everybody's */
		{ "", 'a', { 1, 1, 2 }, SLOTS_FREE, 0 },
		{ "", '.', { 1, 1, 2 }, SLOTS_FREE, 0 },
		{ "", 'a', { 4, 9, 2 }, SLOTS_FREE, 0 },
		{ "a", 'b', { 4, 9, 2 }, -EBUSY, 0 },
		{ "", 'a', { 4, 1, 0 }, -EBUSY, 0 },
	};

	(void)state;
	CHECK_ALL(choices);
}

static void root_and_rules_take_the_oldest_of_the_user_with_most(void **state)
{
	static const struct choice choices[] = {
		{ "baa#", '#', LIMITS, 1, 0 },
		{ "baa#", '.', LIMITS, 1, 0 },
		{ "ab##", '#', LIMITS, 0, 0 },
		{ "#ab.", '.', LIMITS, 1, 0 },
		{ "####", '#', LIMITS, -EBUSY, 0 },
		{ "##..", '#', LIMITS, -EBUSY, 0 },
		/* the last slot is none of rules */
		{ "...", '.', LIMITS, -EBUSY, 0 },
		{ "...a", '.', LIMITS, -EBUSY, 0 },
		{ "...a", '#', LIMITS, 3, 0 },
		{ "a", '#', { 1, 1, 2 }, 0, 0 },
		{ "a", '.', { 1, 1, 2 }, 0, 0 },
		{ "#", '.', { 1, 1, 2 }, -EBUSY, 0 },
	};

	(void)state;
	CHECK_ALL(choices);
}

static void users_share_what_they_have(void **state)
{
	static const struct choice choices[] = {
		/* two more than who asks */
		{ "baa", 'c', LIMITS, 1, 0 },
		{ "aabb", 'c', { 5, 1, 2 }, 0, 0 },
		{ "bbaa", 'c', { 5, 1, 2 }, 0, 0 },
		{ "aaab", 'b', { 4, 0, 3 }, 0, 0 },
		/* one more, for long */
		{ "abd", 'c', LIMITS, -EBUSY, 0 },
		{ "abd", 'c', LIMITS, 0, SLOTS_SHORTEST_NS },
		{ "aab", 'b', LIMITS, -EBUSY, 27 * SECOND - 1 },
		{ "aab", 'b', LIMITS, 0, 27 * SECOND },
		/* as many, or fewer */
		{ "abd", 'a', LIMITS, -EBUSY, 600 * SECOND },
		{ "bba", 'b', LIMITS, -EBUSY, 600 * SECOND },
		/* none of theirs is in the way */
		{ "####", 'a', LIMITS, -EBUSY, 600 * SECOND },
		{ "###a", 'b', LIMITS, 3, 600 * SECOND },
	};

	(void)state;
	CHECK_ALL(choices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_leave_slots_for_root_and_rules),
		cmocka_unit_test(root_and_rules_take_the_oldest_of_the_user_with_most),
		cmocka_unit_test(users_share_what_they_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
