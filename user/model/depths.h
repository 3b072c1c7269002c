/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How closely a run looked at allocations, by time, and what that cost. Part of the model, which
 * alone changes it.
 */
#ifndef MEMTRACED_MODEL_DEPTHS_H
#define MEMTRACED_MODEL_DEPTHS_H

#include "base/vec.h"
#include "trace/record/record.h"

/* Changes and the overhead: of --max-overhead. The cost: of a run that nothing limits. */
struct depths {
	VEC(struct record_depth_change) changes; /* in their order */
	bool has_overhead, has_cost;
	struct record_overhead overhead;
	struct record_cost cost;
};

static inline void depths_done(struct depths *depths)
{
	vec_done(&depths->changes);
}

/* 0 or -ENOMEM. */
static inline int depths_add_change(struct depths *depths, const struct record_depth_change *record)
{
	return vec_push(&depths->changes, *record);
}

static inline void depths_set_overhead(struct depths *depths, const struct record_overhead *record)
{
	depths->has_overhead = true;
	depths->overhead = *record;
}

static inline void depths_set_cost(struct depths *depths, const struct record_cost *record)
{
	depths->has_cost = true;
	depths->cost = *record;
}

/* What the run costs its processes; NULL: not known, or not of such a run. */
static inline const struct record_overhead *depths_overhead(const struct depths *depths)
{
	return depths->has_overhead ? &depths->overhead : NULL;
}

static inline const struct record_cost *depths_cost(const struct depths *depths)
{
	return depths->has_cost ? &depths->cost : NULL;
}

#endif
