/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/thread_start.h"

#include <signal.h>

int thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	error = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (error)
		return -error;
	error = pthread_create(ret_thread, NULL, fn, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* cannot fail: valid set */
	return -error;
}
