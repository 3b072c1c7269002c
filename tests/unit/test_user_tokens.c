/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tokens of users: whose they are, for how long, and how many there may be.
 */
#include "service/daemon/routes/tokens.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ALICE 1000
#define GROUP 1234
#define BOB 1001

static int set_up(void **state)
{
	struct user_tokens *tokens;
	int r = user_tokens_new(NULL, &tokens);

	*state = tokens;
	return r;
}

static int tear_down(void **state)
{
	user_tokens_free(*state);
	return 0;
}

/* The owner at that time, or -1. */
static int owner(const struct user_tokens *tokens, const char *token, uint64_t now_ns)
{
	uid_t uid;
	gid_t gid;

	if (!user_tokens_find(tokens, token, now_ns, &uid, &gid))
		return -1;
	assert_int_equal(gid, GROUP);
	return (int)uid;
}

static void a_token_is_its_users_until_it_ends(void **state)
{
	char first[USER_TOKEN_LEN], second[USER_TOKEN_LEN], wrong[USER_TOKEN_LEN];

	assert_int_equal(user_tokens_add(*state, ALICE, GROUP, 10, 20, first), 0);
	assert_int_equal(user_tokens_add(*state, BOB, GROUP, 10, 30, second), 0);
	assert_int_equal(strspn(first, "0123456789abcdef"), 48);
	assert_string_not_equal(first, second);
	assert_int_equal(owner(*state, first, 19), ALICE);
	assert_int_equal(owner(*state, second, 19), BOB);
	assert_int_equal(owner(*state, first, 20), -1);
	assert_int_equal(owner(*state, second, 20), BOB);
	memcpy(wrong, second, sizeof(wrong));
	wrong[47] = wrong[47] == '0' ? '1' : '0';
	assert_int_equal(owner(*state, wrong, 20), -1);
	wrong[47] = '\0';
	assert_int_equal(owner(*state, wrong, 20), -1);
	assert_int_equal(owner(*state, "", 20), -1);
}

static void a_user_removes_no_tokens_but_his_own(void **state)
{
	char token[3][USER_TOKEN_LEN];

	assert_int_equal(user_tokens_add(*state, ALICE, GROUP, 0, 10, token[0]), 0);
	assert_int_equal(user_tokens_add(*state, ALICE, GROUP, 0, 99, token[1]), 0);
	assert_int_equal(user_tokens_add(*state, BOB, GROUP, 0, 99, token[2]), 0);
	assert_int_equal(user_tokens_remove(*state, ALICE, 10), 1);
	assert_int_equal(owner(*state, token[1], 10), -1);
	assert_int_equal(owner(*state, token[2], 10), BOB);
	assert_int_equal(user_tokens_remove(*state, ALICE, 10), 0);
	/* What was removed does not come back with an empty one. */
	assert_int_equal(owner(*state, "", 0), -1);
}

static void one_too_many_replaces_the_users_own_that_ends_first(void **state)
{
	char token[USER_TOKENS_OF_ONE][USER_TOKEN_LEN], bobs[USER_TOKEN_LEN], one[USER_TOKEN_LEN];

	assert_int_equal(user_tokens_add(*state, BOB, GROUP, 0, 1, bobs), 0);
	for (uint64_t i = 0; i < USER_TOKENS_OF_ONE; i++)
		assert_int_equal(user_tokens_add(*state, ALICE, GROUP, 0, 99 - i, token[i]), 0);
	assert_int_equal(user_tokens_add(*state, ALICE, GROUP, 0, 99, one), 0);
	assert_int_equal(owner(*state, one, 0), ALICE);
	assert_int_equal(owner(*state, bobs, 0), BOB);
	for (size_t i = 0; i < USER_TOKENS_OF_ONE; i++)
		assert_int_equal(owner(*state, token[i], 0),
				 i + 1 < USER_TOKENS_OF_ONE ? ALICE : -1);
}

static void many_users_leave_some_for_root(void **state)
{
	char token[USER_TOKEN_LEN];
	uid_t uid = ALICE;

	for (; uid < ALICE + USER_TOKENS_MOST - USER_TOKENS_OF_ONE; uid++)
		assert_int_equal(user_tokens_add(*state, uid, GROUP, 0, 99, token), 0);
	assert_int_equal(user_tokens_add(*state, uid, GROUP, 0, 99, token), -EBUSY);
	for (size_t i = 0; i < 2 * USER_TOKENS_OF_ONE; i++)
		assert_int_equal(user_tokens_add(*state, 0, GROUP, 0, 99, token), 0);
	assert_int_equal(owner(*state, token, 0), 0);
	assert_int_equal(user_tokens_add(*state, uid, GROUP, 0, 99, token), -EBUSY);
	/* Those that have ended make room. */
	assert_int_equal(user_tokens_add(*state, uid, GROUP, 99, 100, token), 0);
	assert_int_equal(owner(*state, token, 99), uid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_token_is_its_users_until_it_ends),
		TEST(a_user_removes_no_tokens_but_his_own),
		TEST(one_too_many_replaces_the_users_own_that_ends_first),
		TEST(many_users_leave_some_for_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
