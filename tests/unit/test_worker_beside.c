/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several workers of one keeper, each with a process, and used by a thread, of its own. */
#include "worker_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static void several_of_one_keeper_live_at_once(void **state)
{
	struct worker *first = *state, *second, *third;
	pid_t pids[3];

	assert_int_equal(worker_new_beside(first, &second), 0);
	assert_int_equal(worker_new_beside(second, &third), 0);
	assert_answer(first, "count", "1");
	assert_answer(second, "count", "1");
	assert_answer(third, "count", "1");
	assert_int_equal(worker_keeper(second), worker_keeper(first));
	pids[0] = worker_pid(first);
	pids[1] = worker_pid(second);
	pids[2] = worker_pid(third);
	assert_int_equal(ask(second, "crash", -1), -EPIPE);
	assert_true(is_gone(pids[1]));
	assert_answer(second, "count", "1");
	assert_answer(first, "count", "2");
	worker_free(third);
	assert_true(is_gone(pids[2]));
	assert_answer(second, "count", "2");
	worker_free(second);
	assert_answer(first, "count", "3");
	assert_int_equal(worker_pid(first), pids[0]);
}

static void the_keeper_ends_with_the_last_of_its_workers(void **state)
{
	struct worker *first, *second;
	pid_t keeper;

	(void)state;
	assert_int_equal(worker_new(&ops, 0, &first), 0);
	assert_int_equal(worker_new_beside(first, &second), 0);
	keeper = worker_keeper(first);
	worker_free(first);
	assert_answer(second, "count", "1");
	worker_free(second);
	assert_true(is_gone(keeper));
}

static void a_file_that_killed_one_is_not_tried_by_another(void **state)
{
	_cleanup_close_ int deadly = file_of("bad");
	_cleanup_(worker_free_p) struct worker *second = NULL;
	struct worker *first = *state;

	assert_int_equal(worker_new_beside(first, &second), 0);
	assert_int_equal(ask(first, "crash", deadly), -EPIPE);
	assert_int_equal(ask(second, "read", deadly), -EPIPE);
	assert_answer(second, "count", "1");
}

/* Each thread has its process killed or replaced many times. */
static void *use_one(void *userdata)
{
	_cleanup_close_ int a = file_of("a"), b = file_of("b");
	struct worker *worker = userdata;
	intptr_t n_wrong = 0;

	n_wrong += fchmod(a, 0600) != 0;
	for (int i = 0; i < 50; i++) { /* of two owners */
		_cleanup_strbuf_ struct strbuf answer = {};

		n_wrong += ask_about(worker, "count", i % 2 ? a : b, &answer) != 0;
		n_wrong += strcmp(strbuf_str(&answer), "1") != 0;
	}
	return (void *)n_wrong;
}

static void threads_have_their_own_at_the_same_time(void **state)
{
	struct worker *workers[8];
	pthread_t threads[8];

	for (int i = 0; i < 8; i++) {
		assert_int_equal(worker_new_beside(*state, &workers[i]), 0);
		assert_int_equal(pthread_create(&threads[i], NULL, use_one, workers[i]), 0);
	}
	for (int i = 0; i < 8; i++) {
		void *n_wrong;

		assert_int_equal(pthread_join(threads[i], &n_wrong), 0);
		assert_null(n_wrong);
		worker_free(workers[i]);
	}
}

static void as_many_as_may_live_and_no_more(void **state)
{
	struct worker *workers[200];
	int n = 0;

	for (int r = 0; r == 0; n++) {
		assert_true(n < 200);
		assert_int_equal(worker_new_beside(*state, &workers[n]), 0);
		r = worker_start(workers[n]);
		assert_true(r == 0 || r == -EAGAIN);
	}
	assert_in_range(n, 64, 200);
	worker_free(workers[0]);
	assert_int_equal(worker_start(workers[n - 1]), 0);
	for (int i = 1; i < n; i++)
		worker_free(workers[i]);
}

/*
 * What is traced has not ended for its parent before its tracer has taken note: as if the kernel
 * held it back.
 */
static pid_t hold_back(struct worker *worker)
{
	pid_t pid = worker_pid(worker);

	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	return pid;
}

static void let_go(pid_t pid)
{
	assert_int_equal(waitpid(pid, NULL, __WALL), pid);
}

static void need_tracing(void)
{
	if (geteuid() != 0) {
		print_message("[  SKIP    ] only root may trace a worker\n");
		skip();
	}
}

static void one_that_does_not_end_is_not_waited_for(void **state)
{
	struct worker *worker = *state;
	pid_t pid;

	need_tracing();
	assert_answer(worker, "count", "1");
	pid = hold_back(worker);
	assert_int_equal(ask(worker, "crash", -1), -EPIPE);
	assert_answer(worker, "count", "1");
	assert_false(is_gone(pid));
	let_go(pid);
	assert_int_equal(worker_distrust(worker), -EPIPE); /* the keeper is asked something */
	assert_true(is_gone(pid));
}

static void of_those_that_do_not_end_there_are_only_so_many(void **state)
{
	struct worker *worker = *state;
	pid_t pids[100];
	int n = 0;

	need_tracing();
	for (;;) {
		struct worker *beside;
		int r;

		assert_true(n < 100);
		assert_int_equal(worker_new_beside(worker, &beside), 0);
		r = worker_start(beside);
		if (r == 0)
			pids[n++] = hold_back(beside);
		worker_free(beside);
		if (r != 0) {
			assert_int_equal(r, -EAGAIN);
			break;
		}
	}
	assert_int_equal(worker_start(worker), -EAGAIN);
	for (int i = 0; i < n; i++)
		let_go(pids[i]);
	assert_answer(worker, "count", "1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, worker_fixture_new, worker_fixture_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(several_of_one_keeper_live_at_once),
		cmocka_unit_test(the_keeper_ends_with_the_last_of_its_workers),
		TEST(a_file_that_killed_one_is_not_tried_by_another),
		TEST(threads_have_their_own_at_the_same_time),
		TEST(as_many_as_may_live_and_no_more),
		TEST(one_that_does_not_end_is_not_waited_for),
		TEST(of_those_that_do_not_end_there_are_only_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
