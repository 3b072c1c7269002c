/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/link_closer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 16

struct link_closer {
	pthread_t threads[MAX_THREADS];
	size_t n_threads;
	size_t next; /* index of the next descriptor to close */
	size_t n;
	int fds[];
};

static void *close_some(void *userdata)
{
	struct link_closer *closer = userdata;
	size_t i;

	while ((i = __atomic_fetch_add(&closer->next, 1, __ATOMIC_RELAXED)) < closer->n)
		close(closer->fds[i]);
	return NULL;
}

/* Signals are the main thread's. Without threads link_closer_free closes all by itself. */
static void start_threads(struct link_closer *closer)
{
	sigset_t all, before;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before))
		return;
	while (closer->n_threads < MAX_THREADS && closer->n_threads < closer->n &&
	       !pthread_create(&closer->threads[closer->n_threads], NULL, close_some, closer))
		closer->n_threads++;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* a mask that was set before */
}

int link_closer_new(const int *fds, size_t n, struct link_closer **ret_closer)
{
	struct link_closer *closer = calloc(1, sizeof(*closer) + n * sizeof(*fds));

	if (!closer) {
		for (size_t i = 0; i < n; i++)
			close(fds[i]);
		return -ENOMEM;
	}
	closer->n = n;
	memcpy(closer->fds, fds, n * sizeof(*fds));
	start_threads(closer);
	*ret_closer = closer;
	return 0;
}

void link_closer_free(struct link_closer *closer)
{
	if (!closer)
		return;
	(void)close_some(closer);
	for (size_t i = 0; i < closer->n_threads; i++)
		pthread_join(closer->threads[i], NULL);
	free(closer);
}

void links_close(const int *fds, size_t n)
{
	_cleanup_(link_closer_free_p) struct link_closer *closer = NULL;

	(void)link_closer_new(fds, n, &closer); /* without memory they are closed, one by one */
}
