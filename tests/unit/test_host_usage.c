/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/growth/host_usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

static void times_are_those_at_which_somebody_looked(void **state)
{
	struct watched_process process = { .pss_bytes = MIB, .pss_time_ns = 25 * SECOND };
	struct watched_cgroup cgroup = { 0 };
	struct view_point *points = NULL;
	size_t n = 0;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		watch_series_add(&process.rss, 10 * i * SECOND, i * MIB);
		watch_series_add(&cgroup.current, (10 * i - 5) * SECOND, 9 * i * MIB);
	}
	watch_series_add(&cgroup.current, 30 * SECOND, 50 * MIB);
	assert_int_equal(host_usage_join(&process, &cgroup, &points, &n), 0);
	/* 10, 15, 20, 25 twice, 30 twice; before the process was there its cgroup is not its own */
	assert_int_equal(n, 5);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(points[i].time_ns, (10 + 5 * i) * SECOND);
	assert_int_equal(points[0].rss_bytes, MIB);
	assert_true(points[0].cgroup_bytes == UINT64_MAX);
	assert_true(points[1].rss_bytes == UINT64_MAX);
	assert_int_equal(points[1].cgroup_bytes, 18 * MIB);
	assert_int_equal(points[3].cgroup_bytes, 27 * MIB);
	assert_int_equal(points[3].pss_bytes, MIB);
	assert_int_equal(points[4].rss_bytes, 3 * MIB);
	assert_int_equal(points[4].cgroup_bytes, 50 * MIB);
	assert_true(points[4].pss_bytes == UINT64_MAX);
	free(points);
}

static void there_is_room_for_all_that_is_known(void **state)
{
	struct watched_process process = { .pss_bytes = MIB, .pss_time_ns = SECOND / 2 };
	struct watched_cgroup cgroup = { 0 };
	struct view_point *points = NULL;
	size_t n = 0;

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++) {
		watch_series_add(&process.rss, 2 * i * SECOND, i * MIB);
		watch_series_add(&cgroup.current, (2 * i + 1) * SECOND, i * MIB);
	}
	assert_int_equal(host_usage_join(&process, &cgroup, &points, &n), 0);
	assert_int_equal(n, 2 * WATCH_POINTS + 1);
	for (size_t i = 1; i < n; i++)
		assert_true(points[i].time_ns > points[i - 1].time_ns);
	free(points);
}

static void without_a_cgroup_there_is_the_process_alone(void **state)
{
	struct watched_process process = { 0 };
	struct view_point *points = NULL;
	size_t n = 7;

	(void)state;
	assert_int_equal(host_usage_join(&process, NULL, &points, &n), 0);
	assert_int_equal(n, 0);
	free(points);
	watch_series_add(&process.rss, SECOND, MIB);
	assert_int_equal(host_usage_join(&process, NULL, &points, &n), 0);
	assert_int_equal(n, 1);
	assert_true(points[0].pss_bytes == UINT64_MAX && points[0].cgroup_bytes == UINT64_MAX);
	free(points);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_those_at_which_somebody_looked),
		cmocka_unit_test(there_is_room_for_all_that_is_known),
		cmocka_unit_test(without_a_cgroup_there_is_the_process_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
