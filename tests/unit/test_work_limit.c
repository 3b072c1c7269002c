/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much CPU time a request may take, and what happens to a process that takes more. */
#include "sandbox/work_limit.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

static int file_of_size(off_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static void larger_files_have_more_time_up_to_a_bound(void **state)
{
	_cleanup_close_ int small = file_of_size(1000), large = file_of_size(26 << 20),
			    huge = file_of_size((off_t)1 << 50);
	const int both[] = { small, large };

	(void)state;
	assert_int_equal(work_limit_ns(NULL, 0), 2 * SECOND_NS);
	assert_int_equal(work_limit_ns(&small, 1), 2 * SECOND_NS);
	assert_int_equal(work_limit_ns(&large, 1), 3300000000);
	assert_int_equal(work_limit_ns(both, 2), 3300000000);
	assert_int_equal(work_limit_ns(&huge, 1), 40 * SECOND_NS);
	assert_int_equal(work_wait_ns(2 * SECOND_NS), 10 * SECOND_NS);
	assert_int_equal(work_wait_ns(40 * SECOND_NS), 60 * SECOND_NS);
}

static void a_process_that_uses_more_is_killed(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		work_limit_set(SECOND_NS / 50);
		for (;;)
			__asm__ volatile("");
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGPROF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(larger_files_have_more_time_up_to_a_bound),
		cmocka_unit_test(a_process_that_uses_more_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
