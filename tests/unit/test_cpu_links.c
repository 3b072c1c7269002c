/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sleep is a CLOCK_BOOTTIME that has gone ahead: clock_gettime() is this file's. */
#include "skip_because.h"
#include "trace/jobs/cpu_links.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static time_t slept_s;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	long r = syscall(SYS_clock_gettime, clock, ts);

	if (clock == CLOCK_BOOTTIME)
		ts->tv_sec += slept_s;
	return (int)r;
}

/* What a CPU's link becomes: a descriptor for the first, an error for all others. */
struct made {
	int n, others;
};

static int make(int cpu, void *userdata)
{
	struct made *made = userdata;

	made->n += cpu == 0;
	return cpu == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : made->others;
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void a_sleep_has_them_made_anew_and_nothing_else_does(void **state)
{
	struct made made = { .others = -ENODEV };
	struct cpu_links *links;
	int before = lowest_free();

	(void)state;
	assert_int_equal(cpu_links_new(make, &made, &links), 0);
	for (uint64_t times = 1; times <= 3; times++) {
		for (int i = 0; i < 100; i++)
			assert_int_equal(cpu_links_check(links), 0);
		assert_int_equal(made.n, times);
		assert_int_equal(cpu_links_gaps(links), times - 1);
		slept_s += 5;
		assert_int_equal(cpu_links_check(links), 0);
	}
	cpu_links_free(links);
	assert_int_equal(lowest_free(), before);
}

static void what_cannot_be_made_is_told_and_leaves_nothing_open(void **state)
{
	struct made made = { .others = -EACCES };
	struct cpu_links *links = NULL;
	int before = lowest_free();

	(void)state;
	if (sysconf(_SC_NPROCESSORS_CONF) < 2)
		skip_because("there is one CPU");
	assert_int_equal(cpu_links_new(make, &made, &links), -EACCES);
	assert_null(links);
	assert_int_equal(lowest_free(), before);
	/* Also when it is after a sleep. */
	made.others = -ENODEV;
	assert_int_equal(cpu_links_new(make, &made, &links), 0);
	made.others = -EACCES;
	slept_s += 5;
	assert_int_equal(cpu_links_check(links), -EACCES);
	cpu_links_free(links);
	assert_int_equal(lowest_free(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleep_has_them_made_anew_and_nothing_else_does),
		cmocka_unit_test(what_cannot_be_made_is_told_and_leaves_nothing_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
