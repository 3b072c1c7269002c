/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target/hold when there is no memory, at each of its allocations in turn: no thread may stay
 * seized that the table does not have. The link has calloc() and reallocarray() come here (--wrap).
 */
#include "target/hold/hold.h"

#include "base/strbuf.h"
#include "held_run.h"
#include "hold_targets.h"
#include "target/hold/stop.h"
#include "target/proc_file.h"
#include "target/process.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N_THREADS 9
#define LIMIT_MS 20000
#define LIMIT_NS (LIMIT_MS * UINT64_C(1000000))

/* How many allocations are still made before one fails; 0: none fails. */
static _Atomic unsigned int allocations_left;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_reallocarray(void *data, size_t n, size_t size);
void *__wrap_reallocarray(void *data, size_t n, size_t size);

static bool fails(void)
{
	return allocations_left > 0 && --allocations_left == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *data, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(data, n, size);
}

static int ignore(const struct hold_event *event, void *userdata)
{
	(void)event;
	(void)userdata;
	return 0;
}

static void *wait_for_end(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static pid_t start_threads(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 1; i < N_THREADS; i++)
			if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
				_exit(1);
		if (write(ends[1], "", 1) != 1)
			_exit(1);
		wait_for_end(NULL);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

/* Threads with a tracer, or those that one has stopped. */
static size_t count_threads(pid_t pid, bool (*is_counted)(pid_t tid))
{
	pid_t *tids;
	size_t n, count = 0;

	assert_int_equal(process_threads(pid, &tids, &n), 0);
	assert_int_equal(n, N_THREADS);
	for (size_t i = 0; i < n; i++)
		count += is_counted(tids[i]);
	free(tids);
	return count;
}

static bool is_traced(pid_t tid)
{
	struct process_info info;

	assert_int_equal(process_info_read(tid, &info), 0);
	return info.tracer != 0;
}

static bool is_stopped(pid_t tid)
{
	_cleanup_strbuf_ struct strbuf text = {};

	assert_int_equal(proc_file_read(tid, "stat", 4096, &text), 0);
	return strstr(strbuf_str(&text), ") t ");
}

static void dispatch_until_none(struct hold *hold, pid_t pid, bool (*is_counted)(pid_t tid))
{
	size_t n = count_threads(pid, is_counted);

	for (int ms = 0; n > 0 && ms < LIMIT_MS; ms++) {
		assert_int_equal(hold_dispatch(hold), 0);
		usleep(1000);
		n = count_threads(pid, is_counted);
	}
	/* Not looked at again: who was asked to stop and has not yet may do so in between. */
	assert_int_equal(n, 0);
}

static void a_process_that_cannot_be_seized_as_a_whole_is_let_go(void **state)
{
	_cleanup_(hold_free_p) struct hold *hold = NULL;
	pid_t pid = start_threads();
	int r = -ENOMEM;

	(void)state;
	assert_int_equal(hold_new(ignore, NULL, &hold), 0);
	for (unsigned int at = 1; r == -ENOMEM; at++) {
		allocations_left = at;
		r = hold_seize_running(hold, pid);
		if (allocations_left == 0)
			assert_int_equal(r, -ENOMEM);
		allocations_left = 0;
		if (r == 0)
			break;
		dispatch_until_none(hold, pid, is_traced);
		assert_int_equal(hold_threads(hold), 0);
		assert_false(hold_has(hold, pid));
	}
	assert_int_equal(r, 0);
	assert_int_equal(count_threads(pid, is_traced), N_THREADS);
	assert_int_equal(hold_threads(hold), N_THREADS);
	kill(pid, SIGKILL);
}

static void a_process_that_cannot_be_stopped_as_a_whole_runs_on(void **state)
{
	_cleanup_(hold_free_p) struct hold *hold = NULL;
	pid_t pid = start_threads();
	struct stop *stop;
	int r = -ENOMEM;

	(void)state;
	for (unsigned int at = 1; r == -ENOMEM; at++) {
		allocations_left = at;
		r = stop_new(pid, LIMIT_NS, &stop);
		allocations_left = 0;
		if (r == -ENOMEM)
			assert_int_equal(count_threads(pid, is_traced), 0);
	}
	assert_int_equal(r, 0);
	stop_free(stop);
	assert_int_equal(hold_new(ignore, NULL, &hold), 0);
	assert_int_equal(hold_seize_running(hold, pid), 0);
	r = -ENOMEM;
	for (unsigned int at = 1; r == -ENOMEM; at++) {
		allocations_left = at;
		r = hold_stop(hold, pid, LIMIT_NS, &stop);
		allocations_left = 0;
		if (r == -ENOMEM)
			dispatch_until_none(hold, pid, is_stopped);
	}
	assert_int_equal(r, 0);
	assert_int_equal(count_threads(pid, is_stopped), N_THREADS);
	stop_free(stop);
	kill(pid, SIGKILL);
}

/* True when an allocation has failed. */
static bool run_without_memory(const char *target, unsigned int at)
{
	struct held_run run = { 0 };
	bool has_failed;
	int r;

	assert_int_equal(held_run_start(&run, target, NULL), 0);
	allocations_left = at;
	do
		r = held_run_finish(&run);
	while (r == -ENOMEM);
	has_failed = allocations_left == 0;
	allocations_left = 0;
	assert_int_equal(r, 0);
	assert_int_equal(hold_threads(run.hold), 0);
	assert_false(hold_has(run.hold, run.pid));
	held_run_done(&run);
	return has_failed;
}

static void a_newborn_that_cannot_be_noted_is_let_go(void **state)
{
	static const char *const targets[] = { "forks", "threads", "clones" };

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		for (unsigned int at = 1; run_without_memory(targets[i], at); at++)
			;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_cannot_be_seized_as_a_whole_is_let_go),
		cmocka_unit_test(a_process_that_cannot_be_stopped_as_a_whole_runs_on),
		cmocka_unit_test(a_newborn_that_cannot_be_noted_is_let_go),
	};

	hold_target_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
