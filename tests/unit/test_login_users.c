/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/login_users.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
	char folder[32], subuid[48], passwd[48];
	struct login_users *users;
};

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	strcpy(place->folder, "/tmp/memtraced-users-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	(void)snprintf(place->subuid, sizeof(place->subuid), "%s/subuid", place->folder);
	(void)snprintf(place->passwd, sizeof(place->passwd), "%s/passwd", place->folder);
	write_file(place->passwd, "root:x:0:0::/root:/bin/sh\n"
				  "alice:x:1000:1000::/:/bin/sh\n"
				  "bob:x:1001:1001::/:/bin/sh\n");
	*state = place;
	return login_users_new(place->subuid, place->passwd, &place->users);
}

static int tear_down(void **state)
{
	struct place *place = *state;

	login_users_free(place->users);
	(void)unlink(place->subuid); /* not all tests make it */
	(void)unlink(place->passwd);
	(void)rmdir(place->folder);
	free(place);
	return 0;
}

struct expected {
	uid_t uid, user;
};

static void check(struct place *place, const struct expected *expected, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(login_users_find(place->users, expected[i].uid), expected[i].user);
}

#define CHECK(place, ...)                                                                          \
	check(place, (const struct expected[]){ __VA_ARGS__ },                                     \
	      sizeof((const struct expected[]){ __VA_ARGS__ }) / sizeof(struct expected))

static void a_range_counts_as_its_user(void **state)
{
	struct place *place = *state;

	write_file(place->subuid, "bob:165536:65536\nalice:100000:65536\nalice:300000:1\n");
	CHECK(place, { 1000, 1000 }, { 100000, 1000 }, { 165535, 1000 }, { 165536, 1001 },
	      { 231071, 1001 }, { 231072, 231072 }, { 300000, 1000 }, { 300001, 300001 },
	      { 99999, 99999 });
}

static void a_name_may_be_a_uid_and_an_unknown_one_is_a_user_of_its_own(void **state)
{
	struct place *place = *state;

	write_file(place->subuid, "1007:100000:10\ncarol:200000:10\n");
	CHECK(place, { 100009, 1007 }, { 200000, 200000 }, { 200009, 200000 }, { 200010, 200010 });
}

static void root_and_login_users_are_themselves(void **state)
{
	struct place *place = *state;

	write_file(place->subuid, "alice:1:100000\nbob:500000:10\nroot:600000:10\n");
	CHECK(place, { 0, 0 }, { 1000, 1000 }, { 1001, 1001 }, { 5, 1000 }, { 500001, 1001 },
	      { 600001, 0 });
}

static void what_is_no_range_is_passed_over(void **state)
{
	struct place *place = *state;

	write_file(place->subuid, "\n:\n::\nalice\nalice:\nalice:5\nalice:5:\n:5:5\nalice:-5:5\n"
				  "alice:5:0\nalice:0:5\nalice:4294967295:2\nalice:5:5:5\n"
				  "alice:99999999999:1\nalice: 5:5\nbob:700000:5");
	CHECK(place, { 5, 5 }, { 4294967294U, 4294967294U }, { 700004, 1001 });
}

static void long_lines_and_many_are_bounded(void **state)
{
	struct place *place = *state;
	FILE *file = fopen(place->subuid, "w");

	assert_non_null(file);
	for (int i = 0; i < 5000; i++)
		(void)fputs("alice:1:1", file); /* one line; fclose tells */
	(void)fputs(":5\nbob:800000:5\n", file);
	for (unsigned int i = 0; i < LOGIN_USERS_MOST_RANGES + 10; i++)
		(void)fprintf(file, "u%u:%u:1\n", i, 1000000 + i);
	(void)fputs("alice:900000:5\n", file);
	assert_int_equal(fclose(file), 0);
	CHECK(place, { 1, 1 }, { 5, 5 }, { 800004, 1001 }, { 900000, 900000 });
}

static void a_change_is_seen(void **state)
{
	struct place *place = *state;

	CHECK(place, { 100000, 100000 });
	write_file(place->subuid, "alice:100000:10\n");
	CHECK(place, { 100000, 1000 });
	write_file(place->subuid, "bob:100000:100\n");
	CHECK(place, { 100000, 1001 });
	assert_int_equal(unlink(place->subuid), 0);
	CHECK(place, { 100000, 100000 });
	assert_int_equal(login_users_find(NULL, 7), 7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_range_counts_as_its_user),
		TEST(a_name_may_be_a_uid_and_an_unknown_one_is_a_user_of_its_own),
		TEST(root_and_login_users_are_themselves),
		TEST(what_is_no_range_is_passed_over),
		TEST(long_lines_and_many_are_bounded),
		TEST(a_change_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
