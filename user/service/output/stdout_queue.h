/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for standard output whose reader may be slow: what a pipe, a terminal or a socket does not
 * take at once is written by a loop, on its thread. Without that all that the loop does waits for
 * the reader, the threads of processes that are held too. The flags of standard output are
 * not changed, which other processes may have as well.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_STDOUT_QUEUE_H
#define MEMTRACED_SERVICE_OUTPUT_STDOUT_QUEUE_H

#include "base/cleanup.h"
#include "base/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct stdout_queue;

/* A write of the loop has failed, with this negative errno: the result is the loop callback's. */
typedef int (*stdout_queue_fn)(int error, void *userdata);

/* 0 or -ENOMEM. The loop has to outlive it. */
int stdout_queue_new(struct loop *loop, stdout_queue_fn fn, void *userdata,
		     struct stdout_queue **ret_queue);
/* What is not written yet is dropped. NULL is legal. */
void stdout_queue_free(struct stdout_queue *queue);
DEFINE_CLEANUP(struct stdout_queue, stdout_queue_free)

/*
 * After what it has already, copied. 0, or the negative errno of this write or an earlier one: then
 * nothing is written any more.
 */
int stdout_queue_add(struct stdout_queue *queue, const char *text, size_t len);

/* How many bytes are not written yet. */
size_t stdout_queue_waiting(const struct stdout_queue *queue);

/* Waits for the reader until all is written. As stdout_queue_add. */
int stdout_queue_flush(struct stdout_queue *queue);

/* Of the write that failed; 0: none. */
int stdout_queue_error(const struct stdout_queue *queue);

#endif
