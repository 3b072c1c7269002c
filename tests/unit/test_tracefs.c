/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder that is laid out as tracefs is. */
#include "trace/kernel/tracefs.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

struct tree {
	char path[32];
	int fd;
};

static void write_file(int dir_fd, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int make_tree(void **state)
{
	static const char *const folders[] = {
		"events",
		"events/sched",
		"events/sched/sched_switch",
		"events/sched/sched_wakeup",
		"events/kmem",
		"events/kmem/mm_page_alloc",
		"events/syscalls",
		"events/syscalls/sys_enter_read",
		"events/syscalls/sys_exit_read",
		"events/syscalls/sys_enter_readv",
		"events/syscalls/sys_exit_readv",
		"events/syscalls/sys_enter_write",
	};
	static struct tree tree;

	strcpy(tree.path, "/tmp/test-tracefs-XXXXXX");
	assert_non_null(mkdtemp(tree.path));
	tree.fd = open(tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree.fd >= 0);
	for (size_t i = 0; i < N_ELEMENTS(folders); i++)
		assert_int_equal(mkdirat(tree.fd, folders[i], 0700), 0);
	write_file(tree.fd, "events/enable", "0\n");
	write_file(tree.fd, "events/sched/sched_switch/format",
		   "name: sched_switch\nID: 372\nformat:\n"
		   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		   "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\n"
		   "print fmt: \"\"\n");
	write_file(tree.fd, "events/sched/sched_wakeup/format", "nothing\n");
	*state = &tree;
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at; /* whatever it is */
	return remove(path);
}

static int remove_tree(void **state)
{
	struct tree *tree = *state;

	assert_int_equal(close(tree->fd), 0);
	return nftw(tree->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void a_format_is_read_from_its_file(void **state)
{
	const struct tree *tree = *state;
	_cleanup_(tp_format_done) struct tp_format format = { 0 };

	assert_int_equal(tracefs_read_format(tree->fd, "sched", "sched_switch", &format), 0);
	assert_int_equal(format.id, 372);
	assert_int_equal(tp_format_find(&format, "prev_prio")->offset, 28);
}

static void formats_that_cannot_be_read_say_why(void **state)
{
	const struct tree *tree = *state;
	struct tp_format format;
	char name[300] = { 0 };

	memset(name, 'n', sizeof(name) - 1);
	assert_int_equal(tracefs_read_format(tree->fd, "sched", "switch", &format), -ENOENT);
	assert_int_equal(tracefs_read_format(tree->fd, "shced", "sched_switch", &format), -ENOENT);
	assert_int_equal(tracefs_read_format(tree->fd, "sched", "sched_wakeup", &format), -EBADMSG);
	assert_int_equal(tracefs_read_format(tree->fd, "sched", name, &format), -ENAMETOOLONG);
}

static void near_names_are_those_that_the_kernel_has(void **state)
{
	static const struct {
		const char *category, *name;
		int result;
		const char *names;
	} cases[] = {
		{ "syscalls", "sys_enter_raed", 0, "read" },
		{ "syscalls", "sys_enter_read2", 0, "read, readv" },
		{ "syscalls", "sys_exit_wirte", 0, "" }, /* has no sys_exit_ here */
		{ "syscalls", "sys_enter_wirte", 0, "write" },
		{ "syscalls", "readv", 0, "sys_exit_readv, sys_enter_readv" },
		{ "sched", "sched_swtich", 0, "sched_switch" },
		{ "sched", "frobnicate", 0, "" },
		{ "shced", "sched_switch", 1, "sched" },
		{ "kmen", "mm_page_alloc", 1, "kmem" },
		{ "ext4", "ext4_write", 1, "" },
		{ NULL, "sched_switch", 0, "sched:sched_switch" },
		{ NULL, "page_alloc", 0, "kmem:mm_page_alloc" },
		{ NULL, "enable", 0, "" },
	};
	const struct tree *tree = *state;

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf names = { 0 };
		int r = tracefs_near_events(tree->fd, cases[i].category, cases[i].name, &names);

		if (r != cases[i].result)
			fail_msg("%s gives %d", cases[i].name, r);
		assert_string_equal(strbuf_str(&names), cases[i].names);
	}
}

static void without_events_there_is_nothing_to_name(void **state)
{
	const struct tree *tree = *state;
	_cleanup_strbuf_ struct strbuf names = { 0 };
	_cleanup_close_ int fd = openat(tree->fd, "events/kmem", O_RDONLY | O_DIRECTORY);

	assert_int_equal(tracefs_near_events(fd, NULL, "read", &names), -ENOENT);
	assert_int_equal(tracefs_near_events(fd, "sched", "read", &names), -ENOENT);
	assert_string_equal(strbuf_str(&names), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_format_is_read_from_its_file),
		cmocka_unit_test(formats_that_cannot_be_read_say_why),
		cmocka_unit_test(near_names_are_those_that_the_kernel_has),
		cmocka_unit_test(without_events_there_is_nothing_to_name),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
