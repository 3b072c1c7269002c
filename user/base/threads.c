/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int start_blocked(pthread_t *ret_thread, const pthread_attr_t *attributes,
			 void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	error = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (error)
		return -error;
	error = pthread_create(ret_thread, attributes, fn, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* cannot fail: valid set */
	return -error;
}

int thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg)
{
	return start_blocked(ret_thread, NULL, fn, arg);
}

int thread_start_detached(void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r = -pthread_attr_init(&attributes);

	if (r < 0)
		return r;
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED); /* a valid state */
	r = start_blocked(&thread, &attributes, fn, arg);
	pthread_attr_destroy(&attributes);
	return r;
}

/* Beside this one; what is done here is no work for more. */
#define MAX_THREADS 7

struct work {
	size_t next, n;
	void (*fn)(size_t i, void *userdata);
	void *userdata;
};

static void *run_pieces(void *arg)
{
	struct work *work = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&work->next, 1, __ATOMIC_RELAXED)) < work->n)
		work->fn(i, work->userdata);
	return NULL;
}

static size_t threads_for(size_t n)
{
	cpu_set_t cpus;
	size_t most;

	if (n < 2 || sched_getaffinity(0, sizeof(cpus), &cpus))
		return 0;
	most = (size_t)CPU_COUNT(&cpus) - 1;
	if (most > MAX_THREADS)
		most = MAX_THREADS;
	return most < n - 1 ? most : n - 1;
}

void parallel_each(size_t n, void (*fn)(size_t i, void *userdata), void *userdata)
{
	struct work work = { .n = n, .fn = fn, .userdata = userdata };
	const size_t wanted = threads_for(n);
	pthread_t threads[MAX_THREADS];
	size_t started = 0;

	while (started < wanted && thread_start(&threads[started], run_pieces, &work) == 0)
		started++;
	(void)run_pieces(&work);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL); /* ours, and joined once */
}

struct aside {
	const struct loop *loop;
	struct aside_work *work;
	int fd; /* an eventfd: it is done */
	struct loop_source *source;
};

static void aside_free(struct aside *aside)
{
	loop_source_free(aside->source);
	if (aside->fd >= 0)
		close(aside->fd);
	free(aside);
}

static void *run_aside(void *userdata)
{
	const struct aside *aside = userdata;

	loop_lower_priority(aside->loop);
	aside->work->run(aside->work);
	/* The last access: then the other side frees it. Fails only when the counter is full. */
	(void)eventfd_write(aside->fd, 1);
	return NULL;
}

static int on_done(int fd, uint32_t events, void *userdata)
{
	struct aside *aside = userdata;
	struct aside_work *work = aside->work;

	(void)fd;
	(void)events;
	aside_free(aside);
	work->done(work);
	return 0;
}

int aside_start(struct loop *loop, struct aside_work *work)
{
	struct aside *aside = calloc(1, sizeof(*aside));
	int r;

	if (!aside)
		return -ENOMEM;
	aside->loop = loop;
	aside->work = work;
	aside->fd = eventfd(0, EFD_CLOEXEC);
	r = aside->fd < 0 ? -errno :
			    loop_add_fd(loop, aside->fd, EPOLLIN, on_done, aside, &aside->source);
	if (r == 0)
		r = thread_start_detached(run_aside, aside);
	if (r < 0)
		aside_free(aside);
	return r;
}
