/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that handle no signals: these are for the thread that has the loop.
 */
#ifndef MEMTRACED_BASE_THREAD_START_H
#define MEMTRACED_BASE_THREAD_START_H

#include <pthread.h>

/* pthread_create(3) with all signals blocked in the new thread. 0 or negative errno. */
int thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg);

/*
 * The same, detached: whoever has a loop must not join a thread of a lower priority, which on a
 * busy machine gets a CPU for its last steps only after a tenth of a second. The thread's last
 * access to what it shares is to be one that the other side can see, as eventfd_write(3).
 */
int thread_start_detached(void *(*fn)(void *arg), void *arg);

#endif
