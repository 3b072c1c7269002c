/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/watch/watched.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

static void add(struct watched *watched, pid_t pid, uint64_t start, uint64_t rss, uint64_t now_ns)
{
	const struct process_info info = {
		.pid = pid, .start_ticks = start, .comm = "name", .rss_bytes = rss
	};

	assert_int_equal(watched_add_process(watched, &info, now_ns), 0);
}

static void what_a_sweep_does_not_see_is_forgotten(void **state)
{
	_cleanup_(watched_free_p) struct watched *watched = NULL;
	const struct cgroup_memory memory = { .current_bytes = MIB };

	(void)state;
	assert_int_equal(watched_new(&watched), 0);
	watched_begin(watched);
	add(watched, 7, 1, MIB, SECOND);
	add(watched, 8, 1, MIB, SECOND);
	assert_int_equal(watched_add_cgroup(watched, "/a", &memory, SECOND), 0);
	assert_int_equal(watched_add_cgroup(watched, "/b", &memory, SECOND), 0);
	watched_end(watched);
	watched_begin(watched);
	add(watched, 8, 1, 2 * MIB, 2 * SECOND);
	assert_int_equal(watched_add_cgroup(watched, "/b", &memory, 2 * SECOND), 0);
	watched_end(watched);
	assert_null(watched_process(watched, 7));
	assert_null(watched_cgroup(watched, "/a"));
	assert_int_equal(watched_process(watched, 8)->rss.n, 2);
	assert_int_equal(watched_process(watched, 8)->rss_bytes, 2 * MIB);
	assert_int_equal(watched_cgroup(watched, "/b")->current.n, 2);
	assert_int_equal(watched_count(watched).processes, 1);
	assert_int_equal(watched_count(watched).cgroups, 1);
	assert_non_null(watched_process_at(watched, 0));
	assert_null(watched_process_at(watched, 1));
}

/* The pid is that of a larger process now, which has not grown. */
static void a_pid_that_came_again_has_a_series_of_its_own(void **state)
{
	_cleanup_(watched_free_p) struct watched *watched = NULL;
	double slope;

	(void)state;
	assert_int_equal(watched_new(&watched), 0);
	for (uint64_t i = 0; i < 20; i++) {
		watched_begin(watched);
		add(watched, 7, i < 10 ? 100 : 200, i < 10 ? MIB : 900 * MIB, i * SECOND);
		if (i == 5)
			watched_set_pss(watched, 7, MIB, i * SECOND);
		watched_end(watched);
	}
	assert_int_equal(watched_process(watched, 7)->rss.n, 10);
	assert_int_equal(watched_process(watched, 7)->pss_time_ns, 0);
	assert_false(watch_series_slope(&watched_process(watched, 7)->rss, 10 * SECOND, &slope));
	assert_true(watch_series_slope(&watched_process(watched, 7)->rss, 8 * SECOND, &slope));
	assert_true(slope == 0);
}

/* Process 8 is there all the time, 7 ends after five seconds, and another has its pid later. */
static void who_has_ended_is_known_for_a_while_by_its_end(void **state)
{
	_cleanup_(watched_free_p) struct watched *watched = NULL;
	const struct watched_process *found;

	(void)state;
	assert_int_equal(watched_new(&watched), 0);
	for (uint64_t i = 1; i <= 30; i++) {
		watched_begin(watched);
		if (i <= 5 || i >= 20)
			add(watched, 7, i <= 5 ? 100 : 200, i * MIB, i * SECOND);
		add(watched, 8, 1, MIB, i * SECOND);
		watched_end(watched);
		if (i == 10)
			assert_null(watched_process_until(watched, 7, UINT64_MAX));
	}
	found = watched_process_until(watched, 7, 5 * SECOND + 1);
	assert_non_null(found);
	assert_int_equal(found->start_ticks, 100);
	assert_int_equal(watch_series_at(&found->rss, found->rss.n - 1).bytes, 5 * MIB);
	/* Nobody had the pid then: it was gone, and the other had not come. */
	assert_null(watched_process_until(watched, 7, 15 * SECOND));
	assert_int_equal(watched_process_until(watched, 7, 31 * SECOND)->start_ticks, 200);
	assert_int_equal(watched_process_until(watched, 7, UINT64_MAX)->start_ticks, 200);
	assert_int_equal(watched_process_until(watched, 8, 31 * SECOND)->rss.n, 30);
	assert_null(watched_process_until(watched, 9, UINT64_MAX));
	assert_int_equal(watched_count(watched).processes, 2);
}

static void a_pid_that_came_again_at_once_leaves_who_had_it(void **state)
{
	_cleanup_(watched_free_p) struct watched *watched = NULL;

	(void)state;
	assert_int_equal(watched_new(&watched), 0);
	for (uint64_t i = 1; i <= 10; i++) {
		watched_begin(watched);
		add(watched, 7, i <= 5 ? 100 : 200, i * MIB, i * SECOND);
		watched_end(watched);
	}
	assert_int_equal(watched_process_until(watched, 7, 5 * SECOND + 1)->start_ticks, 100);
	assert_int_equal(watched_process_until(watched, 7, 10 * SECOND)->start_ticks, 200);
}

static void of_who_has_ended_the_last_ones_are_known(void **state)
{
	_cleanup_(watched_free_p) struct watched *watched = NULL;

	(void)state;
	assert_int_equal(watched_new(&watched), 0);
	watched_begin(watched);
	for (pid_t pid = 1; pid <= (pid_t)WATCHED_GONE + 3; pid++)
		add(watched, pid, 1, MIB, SECOND);
	watched_end(watched);
	watched_begin(watched);
	add(watched, 1, 1, MIB, 2 * SECOND);
	watched_end(watched);
	assert_null(watched_process_until(watched, 2, SECOND + 1));
	assert_null(watched_process_until(watched, 3, SECOND + 1));
	assert_non_null(watched_process_until(watched, 4, SECOND + 1));
	assert_non_null(watched_process_until(watched, (pid_t)WATCHED_GONE + 3, SECOND + 1));
}

static void what_is_one_too_many_is_counted(void **state)
{
	_cleanup_(watched_free_p) struct watched *watched = NULL;

	(void)state;
	assert_int_equal(watched_new(&watched), 0);
	for (int sweep = 1; sweep <= 2; sweep++) {
		watched_begin(watched);
		for (unsigned int i = 1; i <= WATCHED_PROCESSES + 3; i++)
			add(watched, (pid_t)i, 1, MIB, (uint64_t)sweep * SECOND);
		watched_leave_out_cgroups(watched, 5);
		watched_end(watched);
		assert_int_equal(watched_count(watched).processes, WATCHED_PROCESSES);
		assert_int_equal(watched_count(watched).processes_left_out, 3);
		assert_int_equal(watched_count(watched).cgroups_left_out, 5);
	}
	/* Who has ended has made room. */
	watched_begin(watched);
	add(watched, WATCHED_PROCESSES + 1, 1, MIB, 3 * SECOND);
	watched_end(watched);
	watched_begin(watched);
	add(watched, WATCHED_PROCESSES + 2, 1, MIB, 4 * SECOND);
	watched_end(watched);
	assert_non_null(watched_process(watched, WATCHED_PROCESSES + 2));
	assert_int_equal(watched_count(watched).processes_left_out, 0);
}

/* What one sweep in ten seconds sees in a week: a new process each time, and the oldest ends. */
static void a_week_takes_no_more_memory_than_a_day(void **state)
{
	_cleanup_(watched_free_p) struct watched *watched = NULL;
	const uint64_t sweeps_a_day = 8640, living = 100;
	size_t held[7];

	(void)state;
	assert_int_equal(watched_new(&watched), 0);
	for (uint64_t sweep = 1; sweep <= 7 * sweeps_a_day; sweep++) {
		uint64_t now_ns = 10 * sweep * SECOND;

		watched_begin(watched);
		for (uint64_t born = sweep; born < sweep + living; born++)
			add(watched, (pid_t)(born % 30000 + 1), born, born % 90 * MIB, now_ns);
		watched_end(watched);
		assert_int_equal(watched_count(watched).processes, living);
		if (sweep % sweeps_a_day == 0)
			held[sweep / sweeps_a_day - 1] = mallinfo2().uordblks;
	}
	for (size_t day = 1; day < 7; day++)
		assert_int_equal(held[day], held[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_sweep_does_not_see_is_forgotten),
		cmocka_unit_test(a_pid_that_came_again_has_a_series_of_its_own),
		cmocka_unit_test(who_has_ended_is_known_for_a_while_by_its_end),
		cmocka_unit_test(a_pid_that_came_again_at_once_leaves_who_had_it),
		cmocka_unit_test(of_who_has_ended_the_last_ones_are_known),
		cmocka_unit_test(what_is_one_too_many_is_counted),
		cmocka_unit_test(a_week_takes_no_more_memory_than_a_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
