/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void a_mount_is_judged_by_who_answers_for_it(void **state)
{
	static const struct {
		const char *type, *options;
		enum file_system ours, theirs;
	} cases[] = {
		{ "tmpfs", "rw,size=4k", FILE_SYSTEM_LOCAL, FILE_SYSTEM_LOCAL },
		{ "btrfs", "rw,subvol=/@", FILE_SYSTEM_LOCAL, FILE_SYSTEM_LOCAL },
		{ "overlay", "rw,lowerdir=/l", FILE_SYSTEM_LOCAL, FILE_SYSTEM_LAYERS },
		{ "nfs4", "rw,hard", FILE_SYSTEM_SERVER, FILE_SYSTEM_SERVER },
		{ "unheard-of", "rw", FILE_SYSTEM_SERVER, FILE_SYSTEM_SERVER },
		/* In a container's mount namespace user 0 may be any user. */
		{ "fuse", "rw,user_id=0,group_id=0", FILE_SYSTEM_SERVER, FILE_SYSTEM_FOREIGN },
		{ "fuse.sshfs", "rw,user_id=0", FILE_SYSTEM_SERVER, FILE_SYSTEM_FOREIGN },
		{ "fuse.sshfs", "rw,user_id=1000", FILE_SYSTEM_FOREIGN, FILE_SYSTEM_FOREIGN },
		{ "fuseblk", "rw,user_id=01", FILE_SYSTEM_FOREIGN, FILE_SYSTEM_FOREIGN },
		{ "fuse", "rw,x-user_id=0", FILE_SYSTEM_FOREIGN, FILE_SYSTEM_FOREIGN },
		{ "fuse", "", FILE_SYSTEM_FOREIGN, FILE_SYSTEM_FOREIGN },
		{ "proc", "rw", FILE_SYSTEM_FOREIGN, FILE_SYSTEM_FOREIGN },
		{ "tracefs", "rw", FILE_SYSTEM_FOREIGN, FILE_SYSTEM_FOREIGN },
		{ "fusectl", "rw", FILE_SYSTEM_FOREIGN, FILE_SYSTEM_FOREIGN },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		for (int ours = 0; ours < 2; ours++)
			if (file_system_of_mount(cases[i].type, cases[i].options, ours) !=
			    (ours ? cases[i].ours : cases[i].theirs))
				fail_msg("%s %s, %s", cases[i].type, cases[i].options,
					 ours ? "ours" : "theirs");
}

static void an_open_file_is_judged_by_its_mount(void **state)
{
	_cleanup_close_ int file = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	_cleanup_close_ int proc = open("/proc/self/status", O_PATH | O_CLOEXEC);
	_cleanup_close_ int memory = memfd_create("test", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(file_system_of_fd(file, 0), FILE_SYSTEM_LOCAL);
	assert_int_equal(file_system_of_fd(file, getpid()), FILE_SYSTEM_LOCAL);
	assert_int_equal(file_system_of_fd(proc, 0), FILE_SYSTEM_FOREIGN);
	assert_int_equal(file_system_of_fd(proc, getpid()), FILE_SYSTEM_FOREIGN);
	assert_int_equal(file_system_of_fd(memory, 0), FILE_SYSTEM_LOCAL);
	assert_int_equal(file_system_of_fd(-1, 0), FILE_SYSTEM_FOREIGN);
	assert_true(file_system_is_same_mount(proc, proc));
	assert_false(file_system_is_same_mount(proc, file));
	assert_false(file_system_is_same_mount(-1, -1));
}

static void a_device_is_judged_by_its_mount(void **state)
{
	(void)state;
	assert_int_equal(file_system_of_device(8, 1, 0), FILE_SYSTEM_LOCAL);
	/* What is mounted nowhere may be anything. */
	assert_int_equal(file_system_of_device(0, 0xfffff, getpid()), FILE_SYSTEM_FOREIGN);
}

static void a_files_status_is_that_of_fstat(void **state)
{
	_cleanup_close_ int file = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct stat expected, st;

	(void)state;
	assert_int_equal(fstat(file, &expected), 0);
	assert_int_equal(file_status(file, &st), 0);
	assert_int_equal(st.st_dev, expected.st_dev);
	assert_int_equal(st.st_ino, expected.st_ino);
	assert_int_equal(st.st_mode, expected.st_mode);
	assert_int_equal(st.st_uid, expected.st_uid);
	assert_int_equal(st.st_gid, expected.st_gid);
	assert_int_equal(st.st_size, expected.st_size);
	assert_int_equal(file_status(-1, &st), -EBADF);
}

static void two_descriptors_of_one_file_are_the_same(void **state)
{
	_cleanup_close_ int file = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	_cleanup_close_ int again = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int other = open("/", O_PATH | O_CLOEXEC);

	(void)state;
	assert_true(file_is_same(file, again));
	assert_false(file_is_same(file, other));
	assert_false(file_is_same(file, -1));
	assert_false(file_is_same(-1, -1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mount_is_judged_by_who_answers_for_it),
		cmocka_unit_test(an_open_file_is_judged_by_its_mount),
		cmocka_unit_test(a_device_is_judged_by_its_mount),
		cmocka_unit_test(a_files_status_is_that_of_fstat),
		cmocka_unit_test(two_descriptors_of_one_file_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
