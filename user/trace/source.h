/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a session's records come from: live BPF (trace/live/live.h) or a recorded run
 * (trace/record/recording.h), behind one interface. Used from one thread.
 */
#ifndef MEMTRACED_TRACE_SOURCE_H
#define MEMTRACED_TRACE_SOURCE_H

#include "base/cleanup.h"
#include "trace/record/record.h"

struct source;

struct source_ops {
	/* Hands over what has happened since the last call. 0, or 1 when nothing can follow. */
	int (*drain)(struct source *source, record_fn fn, void *userdata);
	/* Takes a consistent cut now and hands it over (CUT ... CUT_END), after a drain. */
	int (*cut)(struct source *source, record_fn fn, void *userdata);
	void (*free)(struct source *source);
};

/* The first member of every source. */
struct source {
	const struct source_ops *ops;
};

static inline int source_drain(struct source *source, record_fn fn, void *userdata)
{
	return source->ops->drain(source, fn, userdata);
}

static inline int source_cut(struct source *source, record_fn fn, void *userdata)
{
	return source->ops->cut(source, fn, userdata);
}

/* NULL is legal. */
static inline void source_free(struct source *source)
{
	if (source)
		source->ops->free(source);
}
DEFINE_CLEANUP(struct source, source_free)

#endif
