/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of trace/live/ itself call of each other: draining, by which each event goes to
 * the file that knows what it means; what the source says of itself; events that wait.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_DRAIN_H
#define MEMTRACED_TRACE_LIVE_LIVE_DRAIN_H

#include "trace/live/live_state.h"

/* The source's functions, and the ring's callback. */
int live_drain(struct source *source, record_fn fn, void *userdata);
int live_cut(struct source *source, record_fn fn, void *userdata);
int live_on_ring(void *ctx, void *data, size_t size);

/* Do the programs find the processes of the rule, and not the jobs those of the host or cgroup? */
bool live_finds_processes(const struct live_opts *opts);

/* From now on records go there (live_emit); the run is described before the first. */
int live_begin_emitting(struct live *live, record_fn fn, void *userdata);

/* Events of the ring while the source is not drained (live_buffer_begin of trace/live/live.h). */
int live_buffer_new(struct live_buffer **ret_buffer);
void live_buffer_free(struct live_buffer *buffer);
DEFINE_CLEANUP(struct live_buffer, live_buffer_free)
/* From the ring's callback. False: nothing is kept now, it is to be handled. */
bool live_buffer_add(struct live_buffer *buffer, const void *data, size_t size);
/* Events taken in since live_buffer_begin go to fn, in their order. Only after its end. */
void live_buffer_drain(struct live *live, void (*fn)(struct live *live, const void *data));
/* An event that could not be kept: 0 or negative errno. */
int live_buffer_error(const struct live_buffer *buffer);
/* Is there anything for it? */
bool live_buffer_waits(const struct live *live);

#endif
