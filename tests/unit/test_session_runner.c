/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session on a thread of its own: what runs where, in which order, and what comes when it cannot
 * begin. Needs root, since the session traces for real.
 */
#include "service/session/session_runner.h"

#include "base/cleanup.h"
#include "config/options.h"
#include "sandbox/worker.h"
#include "service/session/session.h"
#include "skip_because.h"
#include "symbol/symbol_server.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 10000 /* far more than needed: a bound for a broken loop, not a timing */

struct test_job {
	struct session_job job;
	struct run *run;
	pid_t ran_on;
	int result;
};

struct run {
	struct loop *loop;
	struct worker *worker;
	struct session_runner *runner;
	struct test_job first, second, note;
	pid_t called_on;
	char order[64];
	int begun, over;
};

static void add(struct run *run, const char *what)
{
	strcat(strcat(run->order, run->order[0] ? " " : ""), what);
}

static void on_begun(int error, void *userdata)
{
	struct run *run = userdata;

	run->begun = error;
	add(run, "begun");
}

static void on_over(int error, void *userdata)
{
	struct run *run = userdata;

	run->over = error;
	add(run, "over");
}

static void on_gone(void *userdata)
{
	add(userdata, "gone");
}

static void on_call(void *arg)
{
	((struct run *)arg)->called_on = gettid();
}

static void on_note(struct session_job *job, int result)
{
	(void)result;
	add(((struct test_job *)job)->run, "note");
}

static int run_first(struct session *session, struct session_job *userdata)
{
	struct test_job *job = (struct test_job *)userdata;

	job->ran_on = gettid();
	job->run->note.job.done = on_note;
	session_runner_note(job->run->runner, &job->run->note.job);
	session_runner_call(job->run->runner, on_call, job->run);
	return session_cut(session) == 0 ? 1 : -EIO;
}

static int run_second(struct session *session, struct session_job *userdata)
{
	(void)session;
	((struct test_job *)userdata)->ran_on = gettid();
	return 2;
}

static void on_done(struct session_job *userdata, int result)
{
	struct test_job *job = (struct test_job *)userdata;

	job->result = result;
	add(job->run, job == &job->run->first ? "first" : "second");
}

static void begin(struct run *run, pid_t pid)
{
	struct session_runner_opts opts = {
		.begun = on_begun, .over = on_over, .gone = on_gone, .userdata = run
	};
	_cleanup_strbuf_ struct strbuf error = {};
	char text[16];
	char *words[] = { "memtraced", "--quiet", "-p", text };

	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	assert_int_equal(worker_new(&file_server, 0, &run->worker), 0);
	assert_int_equal(loop_new(&run->loop), 0);
	opts.loop = run->loop;
	opts.worker = run->worker;
	assert_int_equal(options_parse(4, words, &opts.options, &error), 0);
	assert_int_equal(session_runner_new(&opts, &run->runner), 0);
	run->first = (struct test_job){ .job = { .run = run_first, .done = on_done }, .run = run };
	run->second =
		(struct test_job){ .job = { .run = run_second, .done = on_done }, .run = run };
	run->note.run = run;
	session_runner_post(run->runner, &run->first.job);
	session_runner_post(run->runner, &run->second.job);
}

static void run_until(struct run *run, const char *last)
{
	while (!strstr(run->order, last))
		assert_int_equal(loop_run_once(run->loop, WAIT_MS), 0);
}

static void end(struct run *run)
{
	session_runner_end(run->runner);
	run_until(run, "gone");
	loop_free(run->loop);
	worker_free(run->worker);
}

static void jobs_run_on_the_sessions_thread_in_their_order(void **state)
{
	struct run run = { .begun = -1 };
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip_because("it needs root");
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	begin(&run, pid);
	run_until(&run, "second");
	assert_string_equal(run.order, "begun note first second");
	assert_int_equal(run.begun, 0);
	assert_int_equal(run.first.result, 1);
	assert_int_equal(run.second.result, 2);
	assert_int_not_equal(run.first.ran_on, gettid());
	assert_int_equal(run.first.ran_on, run.second.ran_on);
	assert_int_equal(run.called_on, gettid());
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	run_until(&run, "over");
	assert_int_equal(run.over, 0);
	end(&run);
}

static void without_a_session_jobs_are_cancelled(void **state)
{
	struct run run = {};

	(void)state;
	begin(&run, 0x7ffffff0); /* above the kernel's limit of pids */
	end(&run);
	assert_string_equal(run.order, "begun first second gone");
	assert_true(run.begun < 0);
	assert_int_equal(run.first.result, -ECANCELED);
	assert_int_equal(run.second.result, -ECANCELED);
	assert_int_equal(run.first.ran_on, 0);
}

#define N_POSTED 20000

struct counted {
	size_t n_done, out_of_order;
};

struct numbered_job {
	struct session_job job;
	struct counted *counted;
	size_t number;
};

/* Without a session run() is not called. */
static void on_numbered(struct session_job *userdata, int result)
{
	const struct numbered_job *job = (struct numbered_job *)userdata;

	(void)result;
	job->counted->out_of_order += job->number != job->counted->n_done;
	job->counted->n_done++;
}

/* Results come back while jobs are still posted: both ways are in use at a time. */
static void many_jobs_keep_their_order(void **state)
{
	struct numbered_job *jobs = calloc(N_POSTED, sizeof(*jobs));
	struct counted counted = {};
	struct run run = {};

	(void)state;
	assert_non_null(jobs);
	begin(&run, 0x7ffffff0); /* as above */
	for (size_t i = 0; i < N_POSTED; i++) {
		jobs[i] = (struct numbered_job){
			.job = { .run = run_second, .done = on_numbered },
			.counted = &counted,
			.number = i,
		};
		session_runner_post(run.runner, &jobs[i].job);
		if (i % 100 == 0)
			assert_int_equal(loop_run_once(run.loop, 0), 0);
	}
	end(&run);
	assert_string_equal(run.order, "begun first second gone");
	assert_int_equal(counted.n_done, N_POSTED);
	assert_int_equal(counted.out_of_order, 0);
	free(jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_run_on_the_sessions_thread_in_their_order),
		cmocka_unit_test(without_a_session_jobs_are_cancelled),
		cmocka_unit_test(many_jobs_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
