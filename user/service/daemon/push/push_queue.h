/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles that wait to be sent to one server, in bounded memory, and when the next try is due. The
 * oldest go when there is no room. Plain data without a clock; one thread.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_QUEUE_H
#define MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_QUEUE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* A request, whole but for what the configuration says of the server. */
struct push_item {
	struct push_item *next;
	struct strbuf path; /* behind the server's url, with its query */
	struct strbuf body;
	unsigned int refused; /* so often a server answered that it cannot now */
};

void push_item_free(struct push_item *item); /* NULL is legal */

struct push_counts {
	uint64_t sent, rejected; /* by the server */
	uint64_t dropped;	 /* for want of room, or since no server took it in time */
	uint64_t failed;	 /* tries that are to be repeated */
};

struct push_queue {
	struct push_item *first, *last;
	uint64_t n, bytes;
	uint64_t most_bytes;
	bool is_sending;       /* the first */
	unsigned int failures; /* in a row */
	uint64_t retry_ns;     /* not before; CLOCK_MONOTONIC */
	struct push_counts counts;
};

/* Drops what is there, and counts it. */
void push_queue_clear(struct push_queue *queue);

/* Takes the item over. What it takes the place of is dropped, or it is itself. */
void push_queue_add(struct push_queue *queue, struct push_item *item);

/* When the first may be sent: UINT64_MAX: there is none, or it is being sent. */
uint64_t push_queue_due_ns(const struct push_queue *queue);
/* It is being sent until push_queue_settle. */
const struct push_item *push_queue_begin(struct push_queue *queue);

enum push_result {
	PUSH_SENT,
	PUSH_REJECTED, /* for good */
	PUSH_REFUSED,  /* an answer: not now */
	PUSH_FAILED,   /* no answer */
};

/*
 * What came of it. `retry_after_ns`: what the server asks for, or 0; `random`: any number, so that
 * many who fail together do not try again together.
 */
void push_queue_settle(struct push_queue *queue, enum push_result result, uint64_t now_ns,
		       uint64_t retry_after_ns, uint32_t random);

#endif
