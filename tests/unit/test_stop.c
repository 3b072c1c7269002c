/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/hold/stop.h"

#include "base/clock.h"
#include "held_run.h"
#include "hold_targets.h"
#include "target/process.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N_THREADS 8

/* Shared with the child. */
struct counters {
	volatile uint64_t n[N_THREADS];
	volatile uint64_t stack[N_THREADS]; /* an address in the thread's frame */
	volatile uint64_t signals;
};

static struct counters *counters;

static void on_signal(int sig)
{
	(void)sig;
	counters->signals++;
}

static void *count(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;

	counters->stack[i] = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	for (;;)
		counters->n[i]++;
	return NULL;
}

static void run_child(void)
{
	pthread_t thread;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGUSR1, on_signal);
	for (size_t i = 1; i < N_THREADS; i++)
		if (pthread_create(&thread, NULL, count, (void *)(uintptr_t)i))
			_exit(1);
	(void)count((void *)0);
}

static bool all_count(void)
{
	for (size_t i = 0; i < N_THREADS; i++)
		if (!counters->n[i])
			return false;
	return true;
}

static pid_t start(void)
{
	pid_t pid;

	memset(counters, 0, sizeof(*counters));
	pid = fork();
	if (pid == 0)
		run_child();
	assert_true(pid > 0);
	for (int i = 0; i < 20000 && !all_count(); i++)
		usleep(1000);
	assert_true(all_count());
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(wait_bounded(pid), SIGKILL);
}

static int setup(void **state)
{
	(void)state;
	counters = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	return counters == MAP_FAILED ? -1 : 0;
}

static bool grows_again(const struct counters *before)
{
	for (int i = 0; i < 20000; i++) {
		size_t n = 0;

		for (size_t k = 0; k < N_THREADS; k++)
			n += counters->n[k] > before->n[k];
		if (n == N_THREADS)
			return true;
		usleep(1000);
	}
	return false;
}

static void all_threads_stand_still_and_run_on_afterwards(void **state)
{
	struct counters before, after;
	const struct stopped_thread *threads;
	struct stop *stop;
	pid_t pid = start();
	size_t n, found = 0;

	(void)state;
	assert_int_equal(stop_new(pid, SECOND_NS * 20, &stop), 0);
	memcpy(&before, counters, sizeof(before));
	threads = stop_threads(stop, &n);
	assert_int_equal(n, N_THREADS);
	assert_int_equal(stop_running(stop), 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(threads[i].stopped && threads[i].has_sp && !threads[i].is_exiting);
		/* count() keeps little: its stack pointer is near its frame. */
		for (size_t k = 0; k < N_THREADS; k++)
			found += counters->stack[k] - threads[i].sp + 4096 < 8192;
	}
	assert_int_equal(found, N_THREADS);
	usleep(20000);
	memcpy(&after, counters, sizeof(after));
	assert_memory_equal(&before, &after, sizeof(before));
	stop_free(stop);
	assert_true(grows_again(&before));
	end(pid);
}

static void a_signal_that_comes_in_the_stop_is_not_lost(void **state)
{
	struct stop *stop;
	pid_t pid = start();

	(void)state;
	assert_int_equal(stop_new(pid, SECOND_NS * 20, &stop), 0);
	assert_int_equal(kill(pid, SIGUSR1), 0);
	usleep(5000);
	assert_int_equal(counters->signals, 0);
	stop_free(stop);
	for (int i = 0; i < 20000 && !counters->signals; i++)
		usleep(1000);
	assert_int_equal(counters->signals, 1);
	end(pid);
}

static char state_of(pid_t pid)
{
	char path[64], line[256], state = '?';
	const char *paren;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	if (fgets(line, sizeof(line), file) && (paren = strrchr(line, ')')))
		state = paren[2];
	fclose(file);
	return state;
}

static void the_death_of_who_stopped_it_lets_it_go(void **state)
{
	struct counters before;
	int ready[2];
	char byte;
	pid_t pid = start(), stopper;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	stopper = fork();
	if (stopper == 0) {
		struct stop *stop;

		if (stop_new(pid, SECOND_NS * 20, &stop) == 0 && write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(state_of(pid), 't');
	memcpy(&before, counters, sizeof(before));
	end(stopper);
	assert_true(grows_again(&before));
	close(ready[0]);
	close(ready[1]);
	end(pid);
}

static void a_process_under_a_debugger_is_left_alone(void **state)
{
	struct stop *stop = NULL;
	pid_t pid = start();

	(void)state;
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	assert_int_equal(stop_new(pid, SECOND_NS * 20, &stop), -EBUSY);
	assert_null(stop);
	end(pid);
}

static void a_process_stopped_by_job_control_stays_so(void **state)
{
	struct stop *stop;
	pid_t pid = start();

	(void)state;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	for (int i = 0; i < 20000 && state_of(pid) != 'T'; i++)
		usleep(1000);
	assert_int_equal(stop_new(pid, SECOND_NS * 20, &stop), 0);
	assert_int_equal(stop_running(stop), 0);
	stop_free(stop);
	for (int i = 0; i < 20000 && state_of(pid) != 'T'; i++)
		usleep(1000);
	assert_int_equal(state_of(pid), 'T');
	end(pid);
}

static void a_process_that_is_gone_cannot_be_stopped(void **state)
{
	struct stop *stop = NULL;
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	/* a zombie first, then nothing */
	assert_int_equal(stop_new(pid, SECOND_NS, &stop), -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(stop_new(pid, SECOND_NS, &stop), -ESRCH);
	assert_null(stop);
}

/* --- of held processes ----------------------------------------------------------------------- */

struct exits {
	struct held_run run;
	size_t n, n_others, n_threads, n_running, n_exiting;
	int status; /* of the first thread that ends by a signal */
};

static int on_event(const struct hold_event *event, void *userdata)
{
	struct exits *exits = userdata;
	_cleanup_(stop_free_p) struct stop *stop = NULL;
	const struct stopped_thread *threads;
	size_t n;

	if (event->type != HOLD_EXITING)
		return 0;
	if (event->pid != exits->run.pid) {
		exits->n_others++;
		return 0;
	}
	exits->n++;
	assert_int_equal(hold_stop(exits->run.hold, event->pid, SECOND_NS * 20, &stop), 0);
	threads = stop_threads(stop, &n);
	exits->n_threads += n;
	exits->n_running += stop_running(stop);
	for (size_t i = 0; i < n; i++) {
		exits->n_exiting += threads[i].is_exiting;
		exits->status |= threads[i].exit_status;
	}
	return 0;
}

static void the_end_of_a_held_process_is_told_once_with_its_threads(void **state)
{
	static const struct {
		const char *target, *arg;
		size_t n_threads; /* at its end; 0: any number */
		int status;
	} rows[] = {
		{ "exit", "0", 1, 0 },
		{ "exit", "42", 1, 42 << 8 },
		{ "signal", "15", 1, SIGTERM },
		{ "threads", NULL, 0, 0 },
		{ "leader_leaves", NULL, 0, 6 << 8 },
		{ "thread_execs", NULL, 1, 4 << 8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct exits exits = { .run = { .fn = on_event, .exits = HOLD_EXITS_ALL } };

		exits.run.userdata = &exits;
		print_message("# %s\n", rows[i].target);
		assert_int_equal(held_run_start(&exits.run, rows[i].target, rows[i].arg), 0);
		assert_int_equal(held_run_finish(&exits.run), 0);
		assert_int_equal(held_run_status(&exits.run), rows[i].status);
		if (rows[i].n_threads)
			assert_int_equal(exits.n_threads, rows[i].n_threads);
		assert_int_equal(exits.n, 1);
		assert_int_equal(exits.n_running, 0);
		assert_true(exits.n_exiting >= 1);
		assert_int_equal(exits.status, rows[i].status);
		held_run_done(&exits.run);
	}
}

static void only_the_end_of_what_was_seized_is_told_if_asked_so(void **state)
{
	static const struct {
		const char *target, *arg;
		enum hold_exits exits;
		size_t n;
		bool others;
	} rows[] = {
		{ "exit", "0", HOLD_EXITS_NONE, 0, false },
		{ "exit", "0", HOLD_EXITS_SEIZED, 1, false },
		{ "threads", NULL, HOLD_EXITS_SEIZED, 1, false },
		{ "leader_leaves", NULL, HOLD_EXITS_SEIZED, 0, false },
		{ "thread_execs", NULL, HOLD_EXITS_SEIZED, 1, false },
		{ "thread_exits", "0", HOLD_EXITS_SEIZED, 1, false },
		{ "thread_exits", "6", HOLD_EXITS_SEIZED, 1, false },
		{ "forks", NULL, HOLD_EXITS_SEIZED, 1, false },
		{ "forks", NULL, HOLD_EXITS_ALL, 1, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct exits exits = { .run = { .fn = on_event, .exits = rows[i].exits } };

		exits.run.userdata = &exits;
		print_message("# %s %d\n", rows[i].target, (int)rows[i].exits);
		assert_int_equal(held_run_start(&exits.run, rows[i].target, rows[i].arg), 0);
		assert_int_equal(held_run_finish(&exits.run), 0);
		assert_int_equal(exits.n, rows[i].n);
		assert_int_equal(exits.n_others > 0, rows[i].others);
		held_run_done(&exits.run);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_stand_still_and_run_on_afterwards),
		cmocka_unit_test(a_signal_that_comes_in_the_stop_is_not_lost),
		cmocka_unit_test(the_death_of_who_stopped_it_lets_it_go),
		cmocka_unit_test(a_process_under_a_debugger_is_left_alone),
		cmocka_unit_test(a_process_stopped_by_job_control_stays_so),
		cmocka_unit_test(a_process_that_is_gone_cannot_be_stopped),
		cmocka_unit_test(the_end_of_a_held_process_is_told_once_with_its_threads),
		cmocka_unit_test(only_the_end_of_what_was_seized_is_told_if_asked_so),
	};

	hold_target_main(argc, argv);
	return cmocka_run_group_tests(tests, setup, NULL);
}
