/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/file_system.h"
#include "skip_because.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[] = "/tmp/test_reopen.XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[sizeof(folder) + 16];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name); /* fits */
	return path;
}

static void write_file(const char *name, const char *text)
{
	_cleanup_close_ int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	write_file("file", "mine");
	assert_int_equal(symlink("file", in_folder("link")), 0);
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "file", "link", "fifo" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(unlink(in_folder(names[i])), 0);
	return rmdir(folder);
}

static void assert_reads(int fd, const char *expected)
{
	char text[16] = "";

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text) - 1), strlen(expected));
	assert_string_equal(text, expected);
}

static void a_place_is_opened_whatever_its_name_leads_to_by_then(void **state)
{
	_cleanup_close_ int place = open(in_folder("file"), O_PATH | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	char before[sizeof(folder) + 16];

	(void)state;
	assert_true(place >= 0);
	strcpy(before, in_folder("file"));
	assert_int_equal(rename(before, in_folder("moved")), 0);
	write_file("file", "another's");
	fd = reopen_for_reading(place, 0, FILE_SYSTEM_LOCAL);
	assert_int_equal(rename(in_folder("moved"), before), 0);
	assert_reads(fd, "mine");
}

static void what_is_no_place_is_told(void **state)
{
	(void)state;
	assert_int_equal(reopen_for_reading(-1, 0, FILE_SYSTEM_LOCAL), -EBADF);
}

static void a_regular_file_is_opened_by_its_name_or_a_link(void **state)
{
	_cleanup_close_ int by_name = open_regular(in_folder("file"));
	_cleanup_close_ int by_link = open_regular(in_folder("link"));

	(void)state;
	assert_reads(by_name, "mine");
	assert_reads(by_link, "mine");
	assert_int_equal(open_regular(in_folder("nothing")), -ENOENT);
	assert_int_equal(open_regular(in_folder("file/more")), -ENOTDIR);
}

/* Whoever opens it is seen by inotify, as the driver of a device would see it. */
static void what_is_no_regular_file_does_not_know_that_it_was_named(void **state)
{
	_cleanup_close_ int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct inotify_event event;

	(void)state;
	assert_true(events >= 0);
	assert_true(inotify_add_watch(events, in_folder("fifo"), IN_OPEN) >= 0);
	assert_int_equal(open_regular(in_folder("fifo")), -EINVAL);
	assert_int_equal(open_regular(folder), -EINVAL);
	assert_int_equal(open_regular("/dev/null"), -EINVAL);
	assert_int_equal(read(events, &event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
}

/* open() without O_NONBLOCK would wait for fs.lease-break-time. */
static void a_file_under_a_lease_is_not_waited_for(void **state)
{
	_cleanup_close_ int holder = open(in_folder("file"), O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(holder >= 0);
	assert_true(signal(SIGIO, SIG_IGN) != SIG_ERR);
	if (fcntl(holder, F_SETLEASE, F_WRLCK) < 0)
		skip_because("the file system has no leases");
	assert_int_equal(open_regular(in_folder("file")), -EBUSY);
	assert_int_equal(fcntl(holder, F_SETLEASE, F_UNLCK), 0);
	assert_true(signal(SIGIO, SIG_DFL) != SIG_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_opened_whatever_its_name_leads_to_by_then),
		cmocka_unit_test(what_is_no_place_is_told),
		cmocka_unit_test(a_regular_file_is_opened_by_its_name_or_a_link),
		cmocka_unit_test(what_is_no_regular_file_does_not_know_that_it_was_named),
		cmocka_unit_test(a_file_under_a_lease_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
