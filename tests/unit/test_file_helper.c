/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "target/file_helper.h"
#include "target/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* In the helper: "hang", "die", or a path. */
static int open_it(const struct strbuf *request, int fd)
{
	if (strcmp(strbuf_str(request), "hang") == 0)
		for (;;)
			pause();
	if (strcmp(strbuf_str(request), "die") == 0)
		_exit(1);
	if (fd >= 0)
		return openat(fd, strbuf_str(request), O_RDONLY | O_CLOEXEC);
	fd = open(strbuf_str(request), O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int setup(void **state)
{
	(void)state;
	return file_helper_begin(NULL, open_it);
}

static int teardown(void **state)
{
	pid_t pid = file_helper_pid();

	(void)state;
	file_helper_end();
	/* It ends by itself. */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(file_helper_pid(), 0);
	return 0;
}

static int open_by(uint64_t device, const char *text, int fd)
{
	_cleanup_strbuf_ struct strbuf request = {};

	strbuf_adds(&request, text);
	return file_helper_open(device, &request, fd);
}

static void a_text_of_proc_is_read_whole(void **state)
{
	_cleanup_strbuf_ struct strbuf text = {}, expected = {};

	(void)state;
	assert_int_equal(proc_file_read(getpid(), "environ", 1 << 20, &expected), 0);
	assert_int_equal(file_helper_read(getpid(), "environ", 1 << 20, &text), 0);
	assert_int_equal(text.len, expected.len);
	assert_memory_equal(strbuf_str(&text), strbuf_str(&expected), text.len);
	strbuf_reset(&text);
	/* Longer than a chunk. */
	assert_int_equal(file_helper_read(getpid(), "smaps", 1 << 20, &text), 0);
	assert_non_null(strstr(strbuf_str(&text), "[stack]"));
	assert_int_equal(strbuf_str(&text)[text.len - 1], '\n');
}

static void a_link_of_proc_is_read(void **state)
{
	_cleanup_strbuf_ struct strbuf path = {}, missing = {};
	char expected[PATH_MAX] = "";

	(void)state;
	assert_true(readlink("/proc/self/exe", expected, sizeof(expected) - 1) > 0);
	assert_int_equal(file_helper_read_link(getpid(), "exe", PATH_MAX, &path), 0);
	assert_string_equal(strbuf_str(&path), expected);
	assert_int_equal(file_helper_read_link(getpid(), "exe", 1, &missing), -EFBIG);
	assert_int_equal(file_helper_read_link(getpid(), "map_files/1-2", PATH_MAX, &missing),
			 -ENOENT);
	assert_int_equal(missing.len, 0);
}

static void a_file_of_proc_is_opened_by_the_helper(void **state)
{
	_cleanup_close_ int fd = file_helper_open_proc(getpid(), "root", O_PATH | O_DIRECTORY);
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_strbuf_ struct strbuf text = {};

	(void)state;
	assert_true(fd >= 0 && file_is_same(fd, root_fd));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(file_helper_open_proc(getpid(), "no such file", O_RDONLY), -ENOENT);
	assert_int_equal(file_helper_read_thread(getpid(), "stat", 4096, &text), 0);
	assert_int_equal(strtol(strbuf_str(&text), NULL, 10), getpid());
}

static void what_is_too_long_is_cut_off(void **state)
{
	_cleanup_strbuf_ struct strbuf text = {};

	(void)state;
	assert_int_equal(file_helper_read(getpid(), "maps", 100, &text), -EFBIG);
	assert_int_equal(text.len, 100);
}

static void a_process_that_is_gone_is_told(void **state)
{
	_cleanup_strbuf_ struct strbuf text = {};

	(void)state;
	assert_int_equal(file_helper_read(INT32_MAX, "maps", 100, &text), -ESRCH);
}

static void a_file_is_opened_by_the_helper(void **state)
{
	_cleanup_close_ int root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int by_path = open_by(1, "/proc/self/comm", -1);
	_cleanup_close_ int in_root = open_by(1, "self/comm", root);
	char name[32];

	(void)state;
	assert_true(by_path >= 0 && in_root >= 0);
	assert_true(read(by_path, name, sizeof(name)) > 0);
	assert_memory_equal(name, "memtraced-open\n", 15);
	assert_true(fcntl(by_path, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(open_by(1, "/nothing", -1), -ENOENT);
	/* Where it cannot be read. */
	assert_int_equal(open_by(1, "/", -1), -EISDIR);
}

static void who_hangs_is_left_behind_and_not_asked_again(void **state)
{
	uint64_t begin = clock_monotonic_ns(), again;
	int fd;

	(void)state;
	assert_int_equal(open_by(2, "hang", -1), -ETIMEDOUT);
	again = clock_monotonic_ns();
	assert_int_equal(open_by(2, "/proc/self/comm", -1), -ETIMEDOUT);
	/* Not another second. */
	assert_true(clock_monotonic_ns() - again < again - begin);
	fd = open_by(3, "/proc/self/comm", -1);
	assert_true(fd >= 0);
	close(fd);
}

/* Where a file in its root hangs, what the kernel says of a process is read all the same. */
static void a_root_that_hangs_is_no_process_that_does(void **state)
{
	_cleanup_strbuf_ struct strbuf text = {};

	(void)state;
	assert_int_equal(open_by(FILE_HELPER_OF_ROOT | (uint32_t)getpid(), "hang", -1), -ETIMEDOUT);
	assert_int_equal(open_by(FILE_HELPER_OF_ROOT | (uint32_t)getpid(), "/proc/self/comm", -1),
			 -ETIMEDOUT);
	assert_int_equal(file_helper_read_thread(getpid(), "stat", 4096, &text), 0);
}

/* Leaves UINT64_MAX where one cannot be read. */
static void *read_smaps(void *arg)
{
	uint64_t before_ns = file_helper_cpu_ns(), *ns = arg;

	for (size_t i = 0; i < 20; i++) {
		_cleanup_strbuf_ struct strbuf text = {};

		*ns = UINT64_MAX;
		if (file_helper_read(getpid(), "smaps", 1 << 20, &text) < 0)
			return NULL;
	}
	*ns = file_helper_cpu_ns() - before_ns;
	return NULL;
}

static void what_helpers_use_is_counted_for_who_asks(void **state)
{
	uint64_t before_ns, others_ns = 0, ns = 0;
	pthread_t thread;

	(void)state;
	read_smaps(&ns);
	assert_true(ns > 0 && ns < UINT64_MAX);
	before_ns = file_helper_cpu_ns();
	assert_int_equal(pthread_create(&thread, NULL, read_smaps, &others_ns), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(others_ns > 0 && others_ns < UINT64_MAX);
	assert_int_equal(file_helper_cpu_ns(), before_ns);
}

struct begun {
	pid_t forker, opener, holder;
};

static void run_daemon(int fd)
{
	struct begun begun = {};
	char path[64];
	FILE *file;
	int opened;

	file_helper_end();
	if (file_helper_begin(NULL, open_it) < 0)
		_exit(1);
	opened = open_by(2, "/proc/self/comm", -1);
	begun.forker = file_helper_pid();
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)begun.forker,
		       (int)begun.forker);
	file = fopen(path, "re");
	if (opened < 0 || !file || fscanf(file, "%d", &begun.opener) != 1)
		_exit(1);
	begun.holder = fork();
	if (begun.holder > 0)
		(void)!write(fd, &begun, sizeof(begun));
	for (;;)
		pause();
}

static bool ends(pid_t pid)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return fd < 0 || poll(&poll_fd, 1, 20000) == 1;
}

/* Another process has the sockets of the one that is killed, so that these do not tell its end. */
static void none_outlives_who_began_them(void **state)
{
	struct begun begun = {};
	bool forker_ends, opener_ends;
	int pipe_fds[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_daemon(pipe_fds[1]);
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &begun, sizeof(begun)), sizeof(begun));
	close(pipe_fds[0]);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	forker_ends = ends(begun.forker);
	opener_ends = ends(begun.opener);
	assert_int_equal(kill(begun.holder, SIGKILL), 0);
	assert_true(forker_ends);
	assert_true(opener_ends);
}

static void who_dies_is_replaced(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(open_by(4, "die", -1), -EPIPE);
	fd = open_by(4, "/proc/self/comm", -1);
	assert_true(fd >= 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_of_proc_is_read_whole),
		cmocka_unit_test(a_link_of_proc_is_read),
		cmocka_unit_test(a_file_of_proc_is_opened_by_the_helper),
		cmocka_unit_test(what_is_too_long_is_cut_off),
		cmocka_unit_test(a_process_that_is_gone_is_told),
		cmocka_unit_test(a_file_is_opened_by_the_helper),
		cmocka_unit_test(who_hangs_is_left_behind_and_not_asked_again),
		cmocka_unit_test(a_root_that_hangs_is_no_process_that_does),
		cmocka_unit_test(what_helpers_use_is_counted_for_who_asks),
		cmocka_unit_test(none_outlives_who_began_them),
		cmocka_unit_test(who_dies_is_replaced),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
