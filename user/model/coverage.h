/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a run was seen, and how well: losses and cut stacks at the latest cut, functions that
 * could not be probed, what came of --check-stacks. Part of the model, which alone changes it.
 */
#ifndef MEMTRACED_MODEL_COVERAGE_H
#define MEMTRACED_MODEL_COVERAGE_H

#include "base/vec.h"
#include "model/strings.h"
#include "trace/record/record.h"

/* To begin with zero, but for the strings, which must outlive it. */
struct coverage {
	struct strings *strings;
	const struct record_coverage *at_cut;	    /* NULL before the first */
	const struct record_stack_check *of_stacks; /* NULL: not asked for */
	VEC(struct record_unprobed) unprobed;
	VEC(struct record_sites_differ) sites_differ;
	VEC(struct record_stack_differs) stacks_differ;
	/* What the above are of, and the cut that is being read. */
	bool has_next;
	struct record_coverage latest, next;
	struct record_stack_check stack_check;
};

void coverage_done(struct coverage *coverage);

/* What a cut says counts from its end on; an unfinished one leaves it as it was. 0 or -ENOMEM. */
void coverage_cut_begin(struct coverage *coverage);
int coverage_cut(struct coverage *coverage, const struct record_coverage *record);
void coverage_cut_end(struct coverage *coverage);
/* What holds is the state of the latest cut, which is not that of the run's end: a loss. */
int coverage_cut_off(struct coverage *coverage);

/* Each takes in the record of its name; a function is listed once. 0 or -ENOMEM. */
int coverage_add_unprobed(struct coverage *coverage, const struct record_unprobed *record);
int coverage_add_sites(struct coverage *coverage, const struct record_sites_differ *record);
int coverage_stack_check(struct coverage *coverage, const struct record_stack_check *record);
int coverage_add_differs(struct coverage *coverage, const struct record_stack_differs *record);

/*
 * How closely a run looked at allocations, by time, and what that cost. Changes and the overhead:
 * of --max-overhead. The cost: of a run that nothing limits.
 */
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
