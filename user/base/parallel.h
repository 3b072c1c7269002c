/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Independent pieces of work on all CPUs that are ours. Threads live for one call, and handle no
 * signals; where none can be had, this thread does everything.
 */
#ifndef MEMTRACED_BASE_PARALLEL_H
#define MEMTRACED_BASE_PARALLEL_H

#include <stddef.h>

/* Calls fn(0) to fn(n - 1), begun in this order, and returns when all have returned. */
void parallel_each(size_t n, void (*fn)(size_t i, void *userdata), void *userdata);

#endif
