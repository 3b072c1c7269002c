/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/watch/episodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GAP 30

static int look(struct episodes *episodes, const char *key, uint64_t for_s, uint64_t now)
{
	int r = key ? episodes_hold(episodes, key, for_s, GAP, now) : 0;

	episodes_end(episodes, now);
	return r;
}

static void a_condition_must_have_held_all_the_time(void **state)
{
	_cleanup_(episodes_free_p) struct episodes *episodes = NULL;

	(void)state;
	assert_int_equal(episodes_new(&episodes), 0);
	assert_int_equal(look(episodes, "a", 25, 1000), 0);
	assert_int_equal(look(episodes, "a", 25, 1010), 0);
	assert_int_equal(look(episodes, NULL, 25, 1020), 0);
	assert_int_equal(episodes_count(episodes), 0);
	assert_int_equal(look(episodes, "a", 25, 1030), 0);
	assert_int_equal(look(episodes, "a", 25, 1040), 0);
	assert_int_equal(look(episodes, "a", 25, 1050), 0);
	assert_int_equal(look(episodes, "a", 25, 1060), 1);
	assert_int_equal(look(episodes, "b", 0, 1070), 1);
}

/* Suspended, stopped, or a clock that jumped: what was in between is not known. */
static void a_time_that_nobody_saw_does_not_count(void **state)
{
	_cleanup_(episodes_free_p) struct episodes *episodes = NULL;

	(void)state;
	assert_int_equal(episodes_new(&episodes), 0);
	assert_int_equal(look(episodes, "a", 100, 1000), 0);
	assert_int_equal(look(episodes, "a", 100, 9000), 0);
	assert_int_equal(look(episodes, "a", 100, 9030), 0);
	assert_int_equal(look(episodes, "a", 100, 9060), 0);
	assert_int_equal(look(episodes, "a", 100, 9090), 0);
	assert_int_equal(look(episodes, "a", 100, 9100), 1);
	assert_int_equal(look(episodes, "a", 100, 500), 0);
	assert_int_equal(look(episodes, "a", 20, 520), 1);
}

static void of_how_many_it_holds_is_that_of_the_last_look(void **state)
{
	_cleanup_(episodes_free_p) struct episodes *episodes = NULL;
	uint64_t since;

	(void)state;
	assert_int_equal(episodes_new(&episodes), 0);
	assert_int_equal(episodes_held(episodes, &since), 0);
	assert_int_equal(look(episodes, "a", 100, 1000), 0);
	assert_int_equal(episodes_hold(episodes, "b", 100, GAP, 1010), 0);
	assert_int_equal(look(episodes, "a", 100, 1010), 0);
	assert_int_equal(episodes_held(episodes, &since), 2);
	assert_int_equal(since, 1000);
	/* What was settled holds all the same; what holds no more is kept to be left alone. */
	episodes_settle(episodes, "b", 9000);
	assert_int_equal(look(episodes, "b", 100, 1020), 0);
	assert_int_equal(episodes_held(episodes, &since), 1);
	assert_int_equal(since, 1010);
	assert_int_equal(look(episodes, NULL, 100, 1030), 0);
	assert_int_equal(episodes_held(episodes, &since), 0);
	assert_int_equal(episodes_count(episodes), 1);
}

static void who_had_his_turn_is_left_alone_and_remembered(void **state)
{
	_cleanup_(episodes_free_p) struct episodes *episodes = NULL;

	(void)state;
	assert_int_equal(episodes_new(&episodes), 0);
	assert_int_equal(look(episodes, "a", 0, 1000), 1);
	episodes_settle(episodes, "a", 1050);
	assert_int_equal(look(episodes, "a", 0, 1010), 0);
	assert_int_equal(look(episodes, NULL, 0, 1020), 0);
	assert_int_equal(episodes_count(episodes), 1);
	assert_int_equal(look(episodes, "a", 15, 1030), 0);
	assert_int_equal(look(episodes, "a", 15, 1045), 0); /* long enough, too early */
	assert_int_equal(look(episodes, "a", 15, 1050), 1);
	assert_int_equal(look(episodes, NULL, 0, 1060), 0);
	assert_int_equal(episodes_count(episodes), 0);
}

static void a_refusal_is_said_once_while_the_condition_holds(void **state)
{
	_cleanup_(episodes_free_p) struct episodes *episodes = NULL;

	(void)state;
	assert_int_equal(episodes_new(&episodes), 0);
	assert_int_equal(look(episodes, "a", 0, 1000), 1);
	assert_true(episodes_refuse(episodes, "a"));
	assert_int_equal(look(episodes, "a", 0, 1010), 1);
	assert_false(episodes_refuse(episodes, "a"));
	assert_int_equal(look(episodes, NULL, 0, 1020), 0);
	assert_int_equal(look(episodes, "a", 0, 1030), 1);
	assert_true(episodes_refuse(episodes, "a"));
	episodes_clear(episodes);
	assert_int_equal(episodes_count(episodes), 0);
	assert_false(episodes_refuse(episodes, "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_condition_must_have_held_all_the_time),
		cmocka_unit_test(a_time_that_nobody_saw_does_not_count),
		cmocka_unit_test(of_how_many_it_holds_is_that_of_the_last_look),
		cmocka_unit_test(who_had_his_turn_is_left_alone_and_remembered),
		cmocka_unit_test(a_refusal_is_said_once_while_the_condition_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
