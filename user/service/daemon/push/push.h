/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles of what is traced, and of growth, pushed to the servers of the configuration ([push
 * NAME]): at their interval, and when a trace ends. Begins no traces itself. On the thread of the
 * loop.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_H
#define MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_H

#include "base/loop.h"
#include "service/daemon/push/push_queue.h"
#include "service/daemon/trace/traces.h"

struct push;

struct host_growth;

/* All of them outlive it. 0 or negative errno. */
int push_new(struct loop *loop, struct traces *traces, struct host_growth *growth,
	     struct push **ret_push);
/* Without push_finish, what waits is lost. NULL is legal. */
void push_free(struct push *push);
DEFINE_CLEANUP(struct push, push_free)

/*
 * Another configuration (configure.h): its tokens are read, and libcurl is loaded. A target that
 * keeps its name and kind keeps its queue; that of one which is gone is dropped. 0; or negative
 * errno, but for -ENOMEM with one line in *error.
 */
struct push_next;
int push_prepare(struct push *push, const struct service_config *config,
		 struct push_next **ret_next, struct strbuf *error);
/* Takes `next` over; cannot fail. */
void push_commit(struct push *push, struct push_next *next);
void push_next_free(struct push_next *next); /* NULL is legal */
DEFINE_CLEANUP(struct push_next, push_next_free)

/* To be called in each round of the loop, which may wait for the timeout (-1: any time). */
void push_run(struct push *push);
int push_timeout_ms(const struct push *push);

/* A trace is about to be gone: the last that is known of it is pushed. */
void push_trace_ends(struct push *push, uint64_t trace);

/* Sends what waits, for some seconds at most; what is left then is lost (logged). */
void push_finish(struct push *push);

struct push_info {
	const char *name, *url;
	struct push_counts counts;
	uint64_t waiting, waiting_bytes; /* in the queue */
	uint64_t untaken;		 /* times that a trace's profiles could not be made */
	bool is_failing;
};

/* The target at `index`, in the order of the file; false: there are no more. */
bool push_at(const struct push *push, size_t index, struct push_info *ret_info);

#endif
