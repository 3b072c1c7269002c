/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* Beside this one; what is done here is no work for more. */
#define MAX_THREADS 7

struct work {
	size_t next, n;
	void (*fn)(size_t i, void *userdata);
	void *userdata;
};

static void *take_part(void *arg)
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
	sigset_t all, before;
	size_t started = 0;

	sigfillset(&all);
	if (wanted && pthread_sigmask(SIG_SETMASK, &all, &before) == 0) {
		while (started < wanted &&
		       pthread_create(&threads[started], NULL, take_part, &work) == 0)
			started++;
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* it was right before */
	}
	(void)take_part(&work);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL); /* ours, and joined once */
}
