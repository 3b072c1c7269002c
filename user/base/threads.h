/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that handle no signals, which are for the thread that has the loop: one, many for
 * independent pieces of work, or one beside the loop. Any thread may start them.
 */
#ifndef MEMTRACED_BASE_THREADS_H
#define MEMTRACED_BASE_THREADS_H

#include "base/loop.h"

#include <pthread.h>
#include <stddef.h>

/* pthread_create(3) with all signals blocked in the new thread. 0 or negative errno. */
int thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg);

/*
 * The same, detached: a thread with a loop must not join a thread of a lower priority, which on a
 * busy machine gets a CPU for its last steps only after a tenth of a second. The thread's last
 * access to what it shares is to be one that the other side can see, as eventfd_write(3).
 */
int thread_start_detached(void *(*fn)(void *arg), void *arg);

/*
 * Calls fn(0) to fn(n - 1), begun in this order, on all CPUs that are ours, and returns when all
 * have returned. Where no threads can be had, this one does everything.
 */
void parallel_each(size_t n, void (*fn)(size_t i, void *userdata), void *userdata);

/*
 * Work that may take long or hang in the kernel, on a thread of its own beside the loop. What is
 * called is either the thread's or the loop's, as its comment says. Embedded in what the work is
 * about.
 */
struct aside_work {
	/* The thread's. */
	void (*run)(struct aside_work *work);
	/* The loop's, after run(); frees the work. */
	void (*done)(struct aside_work *work);
};

/* Starts it. 0, and done() comes from loop_run_once(); or negative errno, and nothing comes. */
int aside_start(struct loop *loop, struct aside_work *work);

#endif
