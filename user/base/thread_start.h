/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that handle no signals: these are for the thread that has the loop.
 */
#ifndef MEMTRACED_BASE_THREAD_START_H
#define MEMTRACED_BASE_THREAD_START_H

#include <pthread.h>

/* pthread_create(3) with all signals blocked in the new thread. 0 or negative errno. */
int thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg);

#endif
