/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who waits for a trace, and the answers, which the session's thread makes. On the thread of the
 * loop. For traces.c.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_WAITS_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_WAITS_H

#include "service/daemon/trace/trace_ask.h"

struct trace;
struct trace_wait;

/* for_ns: from now on, or from when the trace begins. 0; -EBUSY: too many wait; -ENOMEM. */
int trace_wait_add(struct trace *trace, const struct trace_ask *ask, uint64_t for_ns,
		   struct trace_wait **ret_wait);
/* Tells it what came of it, and frees it; no job shows it. */
void trace_wait_finish(struct trace_wait *wait, enum trace_outcome outcome, int error);

/* The answer is not wanted any more. */
void trace_wait_forget(struct trace_wait *wait);

/* The trace has begun at that time. */
void trace_waits_begin(struct trace *trace, uint64_t now_ns);
/* When trace_waits_answer() has something to do; UINT64_MAX: that is not known. */
uint64_t trace_waits_due_ns(const struct trace *trace);
/* Tells of the beginning, and has those that are due answered. */
void trace_waits_answer(struct trace *trace);

#endif
