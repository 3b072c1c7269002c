/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/boot_facts.h"

#include "base/cleanup.h"
#include "skip_because.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

struct facts {
	uint32_t number;
	char word[12];
};

static const struct facts some = { 7, "seven" };

struct folder {
	char path[64];
	char file[80]; /* the one in it: see find_file() */
};

/* How many files there are; the last one's path in folder->file. */
static int find_file(struct folder *folder)
{
	_cleanup_closedir_ DIR *dir = opendir(folder->path);
	const struct dirent *entry;
	int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		n++;
		assert_true(snprintf(folder->file, sizeof(folder->file), "%.40s/%.32s",
				     folder->path, entry->d_name) < (int)sizeof(folder->file));
	}
	return n;
}

static void folder_done(struct folder *folder)
{
	while (find_file(folder))
		assert_int_equal(unlink(folder->file), 0);
	(void)rmdir(folder->path);
}

static struct folder new_folder(void)
{
	struct folder folder;

	strcpy(folder.path, "/tmp/memtraced-test-XXXXXX");
	assert_non_null(mkdtemp(folder.path));
	folder.file[0] = '\0';
	return folder;
}

static void what_is_kept_is_got_by_its_name_and_size(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	struct facts facts = { 0 };

	(void)state;
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)), -ENOENT);
	assert_int_equal(boot_facts_put(folder.path, "facts", &some, sizeof(some)), 0);
	assert_int_equal(boot_facts_get(folder.path, "others", &facts, sizeof(facts)), -ENOENT);
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts) - 1), -ENOENT);
	assert_int_equal(facts.number, 0);
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)), 0);
	assert_memory_equal(&facts, &some, sizeof(some));
}

/* All that stands before the facts says whose they are. */
static void facts_of_another_boot_or_program_are_not_ours(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	struct facts facts = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(boot_facts_put(folder.path, "facts", &some, sizeof(some)), 0);
	assert_int_equal(find_file(&folder), 1);
	assert_int_equal(stat(folder.file, &st), 0);
	for (off_t at = 0; at < st.st_size - (off_t)sizeof(some); at++) {
		_cleanup_close_ int fd = open(folder.file, O_RDWR | O_CLOEXEC);
		uint8_t byte;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)),
				 -ENOENT);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)), 0);
	assert_int_equal(truncate(folder.file, st.st_size - 1), 0);
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)), -ENOENT);
}

static void what_others_may_write_is_not_believed(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	struct facts facts = { 0 };

	(void)state;
	assert_int_equal(boot_facts_put(folder.path, "facts", &some, sizeof(some)), 0);
	assert_int_equal(find_file(&folder), 1);
	assert_int_equal(chmod(folder.file, 0620), 0);
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)), -ENOENT);
	assert_int_equal(boot_facts_put(folder.path, "facts", &some, sizeof(some)), 0);
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)), 0);
	assert_int_equal(chmod(folder.path, 0770), 0);
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)), -ENOENT);
	assert_int_equal(boot_facts_put(folder.path, "facts", &some, sizeof(some)), -EPERM);
}

static void with_features_left_out_nothing_is_kept_or_taken(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	struct facts facts = { 0 };

	(void)state;
	assert_int_equal(boot_facts_put(folder.path, "facts", &some, sizeof(some)), 0);
	assert_int_equal(setenv("MEMTRACED_WITHOUT", "cookies", 1), 0);
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)), -ENOENT);
	assert_int_equal(boot_facts_put(folder.path, "facts", &facts, sizeof(facts)), -ENOENT);
	assert_int_equal(unsetenv("MEMTRACED_WITHOUT"), 0);
	assert_int_equal(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)), 0);
	assert_int_equal(facts.number, some.number);
}

/* Root without a right is granted less than root with it. */
static void other_rights_have_other_facts(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	struct facts facts = { 0 };
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(syscall(SYS_capget, &header, caps), 0);
	if (caps[0].effective == 0)
		skip_because("it needs capabilities");
	assert_int_equal(boot_facts_put(folder.path, "facts", &some, sizeof(some)), 0);
	pid = fork();
	if (pid == 0) {
		caps[0].effective &= caps[0].effective - 1;
		if (syscall(SYS_capset, &header, caps))
			_exit(2);
		_exit(boot_facts_get(folder.path, "facts", &facts, sizeof(facts)) == 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Two of all that there are may share a place, with another pair each time. */
static void other_rights_do_not_write_over_ours(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	int n = 0, kept = 0;

	(void)state;
	assert_int_equal(syscall(SYS_capget, &header, caps), 0);
	if (caps[0].effective == 0)
		skip_because("it needs capabilities");
	for (uint32_t right = 1; right; right <<= 1) {
		struct facts facts = { 0 };
		int status;
		pid_t pid;

		if (!(caps[0].effective & right))
			continue;
		assert_int_equal(boot_facts_put(folder.path, "facts", &some, sizeof(some)), 0);
		pid = fork();
		if (pid == 0) {
			caps[0].effective = right; /* they are no more than it has */
			if (syscall(SYS_capset, &header, caps))
				_exit(2);
			facts.number = right;
			_exit(boot_facts_put(folder.path, "facts", &facts, sizeof(facts)) != 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		kept += boot_facts_get(folder.path, "facts", &facts, sizeof(facts)) == 0;
		n++;
	}
	if (n < 8)
		skip_because("too few CPUs: they may share one");
	assert_true(kept > n / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_is_got_by_its_name_and_size),
		cmocka_unit_test(facts_of_another_boot_or_program_are_not_ours),
		cmocka_unit_test(what_others_may_write_is_not_believed),
		cmocka_unit_test(with_features_left_out_nothing_is_kept_or_taken),
		cmocka_unit_test(other_rights_have_other_facts),
		cmocka_unit_test(other_rights_do_not_write_over_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
