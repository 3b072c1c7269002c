/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/hold/tracer_thread.h"

#include "base/threads.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct tracer_thread {
	pthread_t thread;
	pid_t tid;
	sem_t request, answer;
	int (*fn)(void *arg); /* NULL: end */
	void *arg;
	int result;
};

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) < 0 && errno == EINTR)
		;
}

static void *serve_calls(void *arg)
{
	struct tracer_thread *thread = arg;

	thread->tid = gettid();
	for (;;) {
		sem_post(&thread->answer);
		wait_for(&thread->request);
		if (!thread->fn)
			return NULL;
		thread->result = thread->fn(thread->arg);
	}
}

int tracer_thread_new(struct tracer_thread **ret_thread)
{
	struct tracer_thread *thread = calloc(1, sizeof(*thread));
	int r;

	if (!thread)
		return -ENOMEM;
	sem_init(&thread->request, 0, 0);
	sem_init(&thread->answer, 0, 0);
	r = thread_start(&thread->thread, serve_calls, thread);
	if (r < 0) {
		free(thread);
		return r;
	}
	wait_for(&thread->answer);
	*ret_thread = thread;
	return 0;
}

int tracer_thread_call(struct tracer_thread *thread, int (*fn)(void *arg), void *arg)
{
	if (pthread_equal(pthread_self(), thread->thread))
		return fn(arg);
	thread->fn = fn;
	thread->arg = arg;
	sem_post(&thread->request);
	wait_for(&thread->answer);
	return thread->result;
}

void tracer_thread_free(struct tracer_thread *thread)
{
	const struct timespec pause = { .tv_nsec = 50000 };

	if (!thread)
		return;
	thread->fn = NULL;
	sem_post(&thread->request);
	pthread_join(thread->thread, NULL);
	/*
	 * The kernel wakes who joins (exit_mm) before it detaches (exit_notify), and forgets the
	 * tid after that (release_task).
	 */
	while (tgkill(getpid(), thread->tid, 0) == 0)
		nanosleep(&pause, NULL);
	sem_destroy(&thread->request);
	sem_destroy(&thread->answer);
	free(thread);
}
