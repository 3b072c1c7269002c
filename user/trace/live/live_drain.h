/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draining: each event goes to the file that knows what it means. */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_DRAIN_H
#define MEMTRACED_TRACE_LIVE_LIVE_DRAIN_H

#include "trace/live/live_state.h"

/* The source's functions, and the ring's callback. */
int live_drain(struct source *source, record_fn fn, void *userdata);
int live_cut(struct source *source, record_fn fn, void *userdata);
int live_on_ring(void *ctx, void *data, size_t size);

#endif
