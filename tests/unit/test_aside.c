/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/threads.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 5000 /* far more than needed: a bound for a broken loop, not a timing */

struct work {
	struct aside_work work;
	sem_t go;
	pid_t ran_on, done_on;
};

static void run(struct aside_work *userdata)
{
	struct work *work = (struct work *)userdata;

	sem_wait(&work->go);
	work->ran_on = gettid();
}

static void on_done(struct aside_work *userdata)
{
	((struct work *)userdata)->done_on = gettid();
}

static void work_runs_beside_the_loop_and_is_done_on_it(void **state)
{
	struct work slow = { .work = { run, on_done } }, quick = { .work = { run, on_done } };
	_cleanup_(loop_free_p) struct loop *loop = NULL;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	sem_init(&slow.go, 0, 0);
	sem_init(&quick.go, 0, 1);
	assert_int_equal(aside_start(loop, &slow.work), 0);
	assert_int_equal(aside_start(loop, &quick.work), 0);
	while (!quick.done_on)
		assert_int_equal(loop_run_once(loop, WAIT_MS), 0);
	assert_int_equal(slow.done_on, 0);
	sem_post(&slow.go);
	while (!slow.done_on)
		assert_int_equal(loop_run_once(loop, WAIT_MS), 0);
	assert_int_equal(slow.done_on, gettid());
	assert_int_equal(quick.done_on, gettid());
	assert_int_not_equal(slow.ran_on, gettid());
	assert_int_not_equal(slow.ran_on, quick.ran_on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_runs_beside_the_loop_and_is_done_on_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
