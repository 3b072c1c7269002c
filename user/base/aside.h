/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may take long or hang in the kernel, on a thread of its own beside the loop. What is
 * called is either the thread's or the loop's, as its comment says.
 */
#ifndef MEMTRACED_BASE_ASIDE_H
#define MEMTRACED_BASE_ASIDE_H

#include "base/loop.h"

/* Embedded in what the work is about. */
struct aside_work {
	/* The thread's. */
	void (*run)(struct aside_work *work);
	/* The loop's, after run(); frees the work. */
	void (*done)(struct aside_work *work);
};

/* Starts it. 0, and done() comes from loop_run_once(); or negative errno, and nothing comes. */
int aside_start(struct loop *loop, struct aside_work *work);

#endif
