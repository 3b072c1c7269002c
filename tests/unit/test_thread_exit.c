/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which end a thread's is that /proc does not tell at once, and whose a thread is. The list of
 * threads is the test's.
 */
#include "target/hold/hold.h"
#include "target/hold/stop.h"
#include "target/process.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NEVER 1000000
#define STOP_NS 1000000000ULL

/* A thread that runs, of which nothing is told: from that look on it is not in the list. */
static size_t gone_at_look, n_looks;
static pid_t second_thread; /* of the list; 0: this process */

int __wrap_process_threads(pid_t pid, pid_t **ret_tids, size_t *ret_n);
int __wrap_process_threads(pid_t pid, pid_t **ret_tids, size_t *ret_n)
{
	pid_t *tids = calloc(2, sizeof(*tids));

	assert_non_null(tids);
	tids[0] = pid;
	tids[1] = second_thread ? second_thread : getpid();
	*ret_tids = tids;
	*ret_n = ++n_looks < gone_at_look ? 2 : 1;
	return 0;
}

static void *end_all(void *arg)
{
	volatile int *go = arg;

	while (!*go)
		(void)usleep(1000);
	_exit(0);
}

/* Its first thread waits while another one ends the process. */
static pid_t start(volatile int *go)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, end_all, (void *)go))
		_exit(1);
	for (;;)
		pause();
}

static enum thread_exit kind_of_end(size_t gone_at)
{
	volatile int *go =
		mmap(NULL, sizeof(*go), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enum thread_exit kind;
	siginfo_t info;
	pid_t pid;

	assert_ptr_not_equal(go, MAP_FAILED);
	gone_at_look = gone_at;
	n_looks = 0;
	pid = start(go);
	assert_true(pid > 0);
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT), 0);
	*go = 1;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
	assert_int_equal(info.si_status >> 8, PTRACE_EVENT_EXIT);
	kind = thread_exit_kind(pid, pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
	assert_int_equal(munmap((void *)go, sizeof(*go)), 0);
	return kind;
}

static void it_is_the_processs_once_the_others_are_gone(void **state)
{
	(void)state;
	assert_int_equal(kind_of_end(0), THREAD_EXIT_PROCESS);
	assert_int_equal(n_looks, 1);
	assert_int_equal(kind_of_end(4), THREAD_EXIT_PROCESS);
	assert_int_equal(n_looks, 4);
}

/* The thread stands still meanwhile. */
static void another_that_tells_nothing_is_not_waited_for_for_good(void **state)
{
	(void)state;
	(void)alarm(60);
	assert_int_equal(kind_of_end(NEVER), THREAD_EXIT_EXEC);
	assert_in_range(n_looks, 2, NEVER - 1);
	(void)alarm(0);
}

static pid_t fork_pausing(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static bool is_stopped(pid_t pid)
{
	char path[32], text[256] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_non_null(strchr(text, ')'));
	return strchr("tT", strchr(text, ')')[2]) != NULL;
}

static bool is_traced(pid_t pid)
{
	struct process_info info;

	assert_int_equal(process_info_read(pid, &info), 0);
	return info.tracer != 0;
}

/* Its thread's id is another process's by the time that it is seized: here the test's child. */
static void a_thread_of_another_process_is_not_stopped(void **state)
{
	pid_t pid = fork_pausing(), other = fork_pausing();
	_cleanup_(stop_free_p) struct stop *stop = NULL;
	const struct stopped_thread *threads;
	size_t n = 0;
	int r;

	(void)state;
	n_looks = 0;
	gone_at_look = 2;
	second_thread = other;
	r = stop_new(pid, STOP_NS, &stop);
	second_thread = 0;
	assert_int_equal(r, 0);
	threads = stop_threads(stop, &n);
	assert_int_equal(n, 1);
	assert_int_equal(threads[0].tid, pid);
	assert_false(is_stopped(other));
	assert_false(is_traced(other));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(kill(other, SIGKILL), 0);
}

static int take_event(const struct hold_event *event, void *userdata)
{
	(void)event;
	(void)userdata;
	return 0;
}

static void a_thread_of_another_process_is_not_held(void **state)
{
	pid_t pid = fork_pausing(), other = fork_pausing();
	_cleanup_(hold_free_p) struct hold *hold = NULL;

	(void)state;
	n_looks = 0;
	gone_at_look = 2;
	second_thread = other;
	assert_int_equal(hold_new(take_event, NULL, &hold), 0);
	assert_int_equal(hold_seize_running(hold, pid), 0);
	second_thread = 0;
	for (int i = 0; i < 1000 && is_traced(other); i++) {
		(void)usleep(5000);
		assert_int_equal(hold_dispatch(hold), 0);
	}
	assert_true(is_traced(pid));
	assert_false(is_traced(other));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(kill(other, SIGKILL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_processs_once_the_others_are_gone),
		cmocka_unit_test(another_that_tells_nothing_is_not_waited_for_for_good),
		cmocka_unit_test(a_thread_of_another_process_is_not_stopped),
		cmocka_unit_test(a_thread_of_another_process_is_not_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
