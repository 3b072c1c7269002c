/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/session_runner.h"

#include "base/threads.h"
#include "config/options.h"
#include "sandbox/worker.h"
#include "service/session/session.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

/*
 * Jobs on their way to the other thread, the newest first. There is no lock: a thread that loses
 * the CPU while it has one would hold up the owner, whose priority is higher.
 */
struct mailbox {
	_Atomic(struct session_job *) newest;
};

/* Written to results_fd as the thread's last access to the runner; there are fewer results. */
#define THREAD_IS_GONE (UINT64_C(1) << 32)

/* What the thread tells of itself. */
struct runner_note {
	struct session_job job;
	struct session_runner *runner;
};

struct session_runner {
	struct session_runner_opts opts;
	struct loop_source *source; /* of results_fd */
	int jobs_fd, results_fd;    /* eventfds: the list beside has something */
	_Atomic uint64_t calls;
	struct mailbox jobs, results;
	atomic_bool is_ending; /* no job follows those that are there */

	/* The session's thread alone. */
	struct session_job *next_job; /* taken from the mailbox, in the order of posting */
	struct worker *worker;
	struct session *session; /* NULL: it has not begun */

	struct runner_note begun, over;
};

/* The job's fields are the taker's from now on. */
static void mailbox_post(struct mailbox *mailbox, struct session_job *job)
{
	job->next = atomic_load_explicit(&mailbox->newest, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&mailbox->newest, &job->next, job,
						      memory_order_release, memory_order_relaxed))
		;
}

/* All that were posted, the oldest first. */
static struct session_job *mailbox_take(struct mailbox *mailbox)
{
	struct session_job *job =
		atomic_exchange_explicit(&mailbox->newest, NULL, memory_order_acquire);
	struct session_job *oldest = NULL;

	while (job) {
		struct session_job *older = job->next;

		job->next = oldest;
		oldest = job;
		job = older;
	}
	return oldest;
}

static void wake(int event_fd)
{
	/* Fails only when the counter is full, and then the other side is awake. */
	(void)eventfd_write(event_fd, 1);
}

/* The sum of what was written. */
static uint64_t unwake(int event_fd)
{
	eventfd_t n = 0;

	/* Fails only when nothing was sent: the descriptors are non-blocking. */
	(void)eventfd_read(event_fd, &n);
	return n;
}

/* --- the session's thread -------------------------------------------------------------------- */

void session_runner_note(struct session_runner *runner, struct session_job *note)
{
	mailbox_post(&runner->results, note);
	wake(runner->results_fd);
}

struct owner_call {
	struct session_job job;
	void (*fn)(void *arg);
	void *arg;
	sem_t done;
};

static void make_owner_call(struct session_job *job, int result)
{
	struct owner_call *call = (struct owner_call *)job; /* its first member */

	(void)result;
	call->fn(call->arg);
	sem_post(&call->done);
}

void session_runner_call(struct session_runner *runner, void (*fn)(void *arg), void *arg)
{
	struct owner_call call = { .job.done = make_owner_call, .fn = fn, .arg = arg };

	sem_init(&call.done, 0, 0);
	session_runner_note(runner, &call.job);
	while (sem_wait(&call.done) < 0 && errno == EINTR)
		;
	sem_destroy(&call.done);
}

static int on_record(const struct record *record, void *userdata)
{
	struct session_runner *runner = userdata;

	if (runner->opts.on_record)
		runner->opts.on_record(runner, record, runner->opts.userdata);
	return 0;
}

static int begin_runner(struct session_runner *runner)
{
	int r = worker_new_beside(runner->opts.worker, &runner->worker);

	return r < 0 ? r :
		       session_new_served(runner->opts.options, runner->worker, on_record, runner,
					  &runner->session);
}

/* NULL: there is none now. *ret_ends: there will be none any more. */
static struct session_job *next_job(struct session_runner *runner, bool *ret_ends)
{
	/* In this order: when it is set, all jobs are there. */
	bool is_ending = atomic_load_explicit(&runner->is_ending, memory_order_acquire);
	struct session_job *job;

	if (!runner->next_job)
		runner->next_job = mailbox_take(&runner->jobs);
	job = runner->next_job;
	if (job)
		runner->next_job = job->next;
	*ret_ends = !job && is_ending;
	return job;
}

static void run_job(struct session_runner *runner, struct session_job *job)
{
	job->result = !job->run ? 0 : runner->session ? job->run(runner->session, job) : -ECANCELED;
	session_runner_note(runner, job);
}

/* Takes what the session has seen. False: it has ended, and there is no more to come. */
static bool run_step(struct session_runner *runner)
{
	int r = session_step(runner->session, 0);

	atomic_store_explicit(&runner->calls, session_calls(runner->session), memory_order_relaxed);
	if (r == 0)
		return true;
	runner->over.job.result = r < 0 ? r : 0;
	session_runner_note(runner, &runner->over.job);
	return false;
}

/* Steps and jobs by turns, until the owner ends it. */
static void serve_session(struct session_runner *runner)
{
	bool runs = runner->session != NULL, ends = false;

	while (!ends) {
		struct pollfd fds[] = {
			{ .fd = runner->jobs_fd, .events = POLLIN },
			{ .fd = runs ? session_fd(runner->session) : -1, .events = POLLIN },
		};
		struct session_job *job = next_job(runner, &ends);

		if (job)
			run_job(runner, job);
		if (ends || poll(fds, 2, job ? 0 : -1) < 0)
			continue;
		if (fds[0].revents)
			(void)unwake(runner->jobs_fd);
		if (fds[1].revents)
			runs = run_step(runner);
	}
}

static void *run_thread(void *userdata)
{
	struct session_runner *runner = userdata;

	loop_lower_priority(runner->opts.loop);
	(void)prctl(PR_SET_NAME, "memtraced-trace"); /* for ps(1) */
	runner->begun.job.result = begin_runner(runner);
	session_runner_note(runner, &runner->begun.job);
	serve_session(runner);
	session_free(runner->session);
	worker_free(runner->worker);
	(void)eventfd_write(runner->results_fd, THREAD_IS_GONE); /* fails only when it is full */
	return NULL;
}

/* --- the owner's thread ---------------------------------------------------------------------- */

static void runner_free(struct session_runner *runner)
{
	loop_source_free(runner->source);
	options_free(runner->opts.options);
	if (runner->jobs_fd >= 0)
		close(runner->jobs_fd);
	if (runner->results_fd >= 0)
		close(runner->results_fd);
	free(runner);
}

static void call_begun(struct session_job *job, int result)
{
	const struct session_runner *runner = ((struct runner_note *)job)->runner;

	runner->opts.begun(result, runner->opts.userdata);
}

static void call_over(struct session_job *job, int result)
{
	const struct session_runner *runner = ((struct runner_note *)job)->runner;

	runner->opts.over(result, runner->opts.userdata);
}

static int on_results(int fd, uint32_t events, void *userdata)
{
	struct session_runner *runner = userdata;
	struct session_job *job, *next;
	bool is_gone;

	(void)events;
	/* In this order: when it is gone, all results are there. */
	is_gone = unwake(fd) >= THREAD_IS_GONE;
	for (job = mailbox_take(&runner->results); job; job = next) {
		next = job->next;
		job->done(job, job->result);
	}
	if (is_gone) {
		runner->opts.gone(runner->opts.userdata);
		runner_free(runner);
	}
	return 0;
}

static int prepare_runner(struct session_runner *runner)
{
	runner->jobs_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	runner->results_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (runner->jobs_fd < 0 || runner->results_fd < 0)
		return -errno;
	return loop_add_fd(runner->opts.loop, runner->results_fd, EPOLLIN, on_results, runner,
			   &runner->source);
}

int session_runner_new(const struct session_runner_opts *opts, struct session_runner **ret_runner)
{
	struct session_runner *runner = calloc(1, sizeof(*runner));
	int r;

	if (!runner)
		return -ENOMEM;
	runner->opts = *opts;
	runner->jobs_fd = runner->results_fd = -1;
	runner->begun = (struct runner_note){ { .done = call_begun }, runner };
	runner->over = (struct runner_note){ { .done = call_over }, runner };
	r = prepare_runner(runner);
	if (r == 0)
		r = thread_start_detached(run_thread, runner);
	if (r < 0) {
		runner->opts.options = NULL; /* the caller's still */
		runner_free(runner);
		return r;
	}
	*ret_runner = runner;
	return 0;
}

void session_runner_post(struct session_runner *runner, struct session_job *job)
{
	mailbox_post(&runner->jobs, job);
	wake(runner->jobs_fd);
}

void session_runner_end(struct session_runner *runner)
{
	atomic_store_explicit(&runner->is_ending, true, memory_order_release);
	wake(runner->jobs_fd);
}

uint64_t session_runner_calls(const struct session_runner *runner)
{
	return atomic_load_explicit(&runner->calls, memory_order_relaxed);
}
