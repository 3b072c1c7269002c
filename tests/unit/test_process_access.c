/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/process_access.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define STATUS(uids, gids, caps)                                                                   \
	"Name:\tx\nTgid:\t7\nUid:\t" uids "\nGid:\t" gids "\nFDSize:\t64\nGroups:\t4 24 \n"        \
	"CapInh:\t0000000000000000\nCapPrm:\t" caps "\nCapEff:\t0000000000000000\n"

static void ids_are_read(void **state)
{
	struct process_ids ids;

	(void)state;
	assert_int_equal(
		process_ids_parse(STATUS("1\t2\t3\t4", "5\t6\t7\t8", "000001ffffffffff"), &ids), 0);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(ids.uids[i], i + 1);
		assert_int_equal(ids.gids[i], i + 5);
	}
	assert_int_equal(ids.permitted, 0x1ffffffffffULL);
}

static void what_is_not_whole_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\n",
		"Name:\tx\nUid:\t1\t2\t3\nGid:\t1\t2\t3\t4\nCapPrm:\t0\n",
		"Name:\tx\nUid:\t1\t2\t3\t4\nCapPrm:\t0\n",
		"Name:\tx Uid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\nCapPrm:\t0\n",
		"Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\nCapPrm:\tx\n",
	};
	struct process_ids ids;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(process_ids_parse(texts[i], &ids), -EBADMSG);
}

static void all_ids_must_be_the_users(void **state)
{
	static const struct {
		struct process_ids ids;
		uid_t uid;
		gid_t gid;
		bool are;
	} cases[] = {
		{ { { 7, 7, 7, 7 }, { 8, 8, 8, 8 }, 0 }, 7, 8, true },
		{ { { 0, 7, 7, 7 }, { 8, 8, 8, 8 }, 0 }, 7, 8, false },
		{ { { 7, 0, 7, 7 }, { 8, 8, 8, 8 }, 0 }, 7, 8, false },
		{ { { 7, 7, 0, 7 }, { 8, 8, 8, 8 }, 0 }, 7, 8, false },
		{ { { 7, 7, 7, 0 }, { 8, 8, 8, 8 }, 0 }, 7, 8, false },
		{ { { 7, 7, 7, 7 }, { 0, 8, 8, 8 }, 0 }, 7, 8, false },
		{ { { 7, 7, 7, 7 }, { 8, 0, 8, 8 }, 0 }, 7, 8, false },
		{ { { 7, 7, 7, 7 }, { 8, 8, 0, 8 }, 0 }, 7, 8, false },
		{ { { 7, 7, 7, 7 }, { 8, 8, 8, 0 }, 0 }, 7, 8, false },
		{ { { 7, 7, 7, 7 }, { 8, 8, 8, 8 }, 0 }, 7, 9, false },
		/* nobody knows the peer's */
		{ { { 7, 7, 7, 7 }, { -1U, -1U, -1U, -1U }, 0 }, 7, -1U, false },
		{ { { -1U, -1U, -1U, -1U }, { 8, 8, 8, 8 }, 0 }, -1U, 8, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(process_ids_are(&cases[i].ids, cases[i].uid, cases[i].gid),
				 cases[i].are);
}

static void a_process_of_the_user_may_be_seen_and_none_of_others(void **state)
{
	(void)state;
	/* root has capabilities, which another root without them may not see */
	assert_int_equal(process_access_check(getpid(), getuid(), getgid()),
			 geteuid() == 0 ? -EACCES : 0);
	assert_int_equal(process_access_check(getpid(), getuid() + 1, getgid()), -EACCES);
	assert_int_equal(process_access_check(getpid(), getuid(), getgid() + 1), -EACCES);
	assert_int_equal(process_access_check(0x7ffffffe, getuid(), getgid()), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_read),
		cmocka_unit_test(what_is_not_whole_is_refused),
		cmocka_unit_test(all_ids_must_be_the_users),
		cmocka_unit_test(a_process_of_the_user_may_be_seen_and_none_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
