/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/thread_start.h"

#include <signal.h>

static int start(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*fn)(void *arg),
		 void *arg)
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
	return start(ret_thread, NULL, fn, arg);
}

int thread_start_detached(void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r = -pthread_attr_init(&attributes);

	if (r < 0)
		return r;
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED); /* a valid state */
	r = start(&thread, &attributes, fn, arg);
	pthread_attr_destroy(&attributes);
	return r;
}
